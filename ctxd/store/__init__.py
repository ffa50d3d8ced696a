"""What lies on disk: event logs, ledger, leases, quarantine, index. Knows no events, dialects or wire."""
