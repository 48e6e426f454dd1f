"""What the learned representations are like (App. A of the paper): numbers first, then figures."""
