"""The pure half of alerts: rules, what breaks them, who is told, what silences match, and the words for all of it."""
