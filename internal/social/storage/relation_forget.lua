-- Removes the members of a set of users whose end has passed.
-- KEYS[1]   the set
-- ARGV[1]   the current time
-- Reply     nil
remove_ended(KEYS[1], ARGV[1])
