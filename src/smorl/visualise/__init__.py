"""Pictures and films for people; reads what the other parts say, decides nothing."""
