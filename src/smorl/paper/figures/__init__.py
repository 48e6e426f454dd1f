"""Pictures from run folders and committed results; reads files only."""
