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

// DrawnSuffix ends the address of a drawn avatar.
const DrawnSuffix = ".svg"

// AvatarPath is the address of the picture of a user, in a size of PortraitPath: a drawn one for
// those who have none.
func AvatarPath(user social.User, size string) string {
	return cmp.Or(PortraitPath(user.Avatar, size), "/drawn/"+url.PathEscape(user.Name)+DrawnSuffix)
}

// avatarSizes are the sides of avatars in pixels, by their class; the style sheet may change
// them on a phone.
var avatarSizes = map[string]int{"small": 30, "medium": 44, "large": 68}

// avatar is the picture of a user. It is beside the name, and says nothing more to a screen
// reader. It is a separate file, and no part of the page: the next page finds it in the
// browser. It is written by hand because a page has many.
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
