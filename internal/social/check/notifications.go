package check

import (
	"strings"

	"retwis/internal/social/layout"
)

// isNotification reports whether a packed notification can be read.
func isNotification(packed string) bool {
	part := strings.Split(packed, ":")
	if len(part) != 3 || len(part[0]) != 1 {
		return false
	}
	_, isUser := layout.ParseID(part[1])
	_, isPost := layout.ParseID(part[2])
	return isUser && (isPost || part[2] == "0" || part[2] == "")
}
