"""The pages of admins: repositories and back-fills, the inbox, groups of jobs, the audit trail."""
