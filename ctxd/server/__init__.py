"""The wire: JSON-RPC over stdio, its methods and their models. Knows `service`; nothing below knows it."""
