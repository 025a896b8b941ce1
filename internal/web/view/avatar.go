package view

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"strconv"

	"github.com/a-h/templ"

	"retwis/internal/social"
)

// DrawnSuffix is the suffix of the address of a drawn avatar.
const DrawnSuffix = ".svg"

// AvatarPath returns the address of the picture of a user in a size of PortraitPath, or of the
// drawn avatar if the user has no picture.
func AvatarPath(user social.User, size string) string {
	return cmp.Or(PortraitPath(user.Avatar, size), "/drawn/"+url.PathEscape(user.Name)+DrawnSuffix)
}

// avatarSizes are the widths of avatars in pixels by class. The style sheet may change them on
// phones.
var avatarSizes = map[string]int{"small": 30, "medium": 44, "large": 68}

// avatar is the picture of a user. alt is empty because the name is next to the picture. The
// picture is a separate file rather than part of the page, so that the next page finds it in the
// browser's cache. The element is written by hand because a page has many avatars.
func avatar(user social.User, size string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		side, file := strconv.Itoa(avatarSizes[size]), "80"
		if size == "large" {
			file = "400"
		}
		_, err := io.WriteString(w, `<img class="avatar `+size+`" src="`+templ.EscapeString(AvatarPath(user, file))+
			`" alt="" width="`+side+`" height="`+side+`" loading="lazy"/>`)
		return err
	})
}
