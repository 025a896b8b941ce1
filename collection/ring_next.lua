-- Moves the first item of a ring to its end.
--
-- KEYS   see ring.lua
--
-- Reply  the item, or false if none is waiting
checkKinds()
local item = first()
if not item then
	return false
end
release(item)
return item
