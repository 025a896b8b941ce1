package view

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/boombuler/barcode/qr"

	"retwis/internal/i18n"
	"retwis/internal/social/auth"
)

// Security is the page about the security of an account. Form is a rejected form: its Action
// identifies the form.
type Security struct {
	On       bool // the second factor
	Codes    int  // remaining recovery codes
	Passkeys []auth.Passkey
	Host     string // of the site; passkeys of other hosts are marked
	Sessions []Session
	Done     string // what has just succeeded, according to the query
	Form     AccountForm
}

// in returns the rejected form if its Action is action, and an empty form otherwise.
func (v Security) in(action string) AccountForm {
	if v.Form.Action == action {
		return v.Form
	}
	return AccountForm{}
}

// RemovePasskeyAction returns the Action of the form that removes a passkey.
func RemovePasskeyAction(id string) string { return "passkey " + id }

// Session is a session in the list.
type Session struct{ auth.OpenSession }

func (v Session) device() i18n.Message {
	if v.Device == "" {
		return i18n.T("Unknown device")
	}
	if browser, system, ok := strings.Cut(v.Device, " on "); ok {
		return i18n.T("{browser} on {system}", browser, system)
	}
	return i18n.Verbatim(v.Device)
}

// codesLeft returns how many recovery codes are left.
func codesLeft(n int) i18n.Message {
	switch n {
	case 0:
		return i18n.T("You have no recovery codes left: get new ones.")
	case 1:
		return i18n.T("You have one recovery code left: get new ones.")
	}
	return i18n.N(int64(n), "You have {n} recovery code left.", "You have {n} recovery codes left.")
}

// InGroups formats a key in groups of four characters, so that people can copy it.
func InGroups(key string) string {
	var groups []string
	for ; len(key) > 4; key = key[4:] {
		groups = append(groups, key[:4])
	}
	return strings.Join(append(groups, key), " ")
}

// QRCode returns a QR code as an inline picture. The picture is black on white in both color
// schemes, because not every camera reads inverted codes.
func QRCode(text string) (templ.Component, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("view: QR code: %w", err)
	}
	const border = 4 // modules, as the standard requires
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := range size {
			if code.At(x, y) == color.Black {
				path.WriteString("M" + strconv.Itoa(x+border) + " " + strconv.Itoa(y+border) + "h1v1h-1z")
			}
		}
	}
	side := strconv.Itoa(size + 2*border)
	shape := `" viewBox="0 0 ` + side + ` ` + side + `" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h` + side + `v` + side +
		`H0z"/><path fill="#000" d="` + path.String() + `"/></svg>`
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		_, err := io.WriteString(w, `<svg class="qr" role="img" aria-label="`+templ.EscapeString(t(ctx, "QR code with the key"))+shape)
		return err
	}), nil
}
