package seed

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"strings"

	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/media"
	"retwis/internal/social/posts"
)

// withFaces is the number of demo users with a full name and an avatar. Every second of these users
// also has a header, and every fourth publishes pictures.
const withFaces = 40

// bios are the bios of demo users.
var bios = []string{
	"Bread, bicycles, and the last train home.", "Keeps a lighthouse. Likes fog.", "Writes letters by hand.",
	"Mostly tea. Sometimes sorted sets.", "Maps on paper, hills on foot.", "Grows garlic. Ask me how.",
}

// captions are the texts of demo posts with pictures.
var captions = []string{
	"Up before the sun, for once. #hills",
	"The same walk on four Sundays.",
	"What the harbour road looks like when the ferries are late, the wind is from the north, and everybody has gone home except for the two of us and the gulls. I'd do it again tomorrow.",
	"Two evenings, one hill. #hills",
	"Three ways to get lost, and none of them was on the map.",
}

// paint gives demo users names and pictures, if the site accepts pictures.
func paint(ctx context.Context, svc *app.App) error {
	people, err := svc.Users.Oldest(ctx, 1, withFaces)
	if err != nil {
		return err
	}
	for i, user := range people {
		profile := accounts.UserProfile{DisplayName: fullName(user.Name), Bio: bios[i%len(bios)]}
		if err := svc.Profiles.Edit(ctx, user, profile); err != nil {
			return err
		}
		if !svc.Media.IsOn() {
			continue
		}
		if err := portrait(ctx, svc, user, media.Avatar, landscape(uint64(i), 160, 160)); err != nil {
			return err
		}
		if i%2 == 0 {
			if err := portrait(ctx, svc, user, media.Header, landscape(uint64(1000+i), 660, 220)); err != nil {
				return err
			}
		}
		if i%4 == 0 {
			if err := publish(ctx, svc, user, i/4); err != nil {
				return err
			}
		}
	}
	return nil
}

// fullName returns a username as a full name: Vera Holm for vera_holm.
func fullName(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, " ")
}

// portrait gives a user an avatar or a header.
func portrait(ctx context.Context, svc *app.App, user social.User, kind media.Kind, file []byte) error {
	r, err := svc.Media.Upload(ctx, user, "", file, kind)
	if err != nil {
		return err
	}
	return svc.Media.SetPortrait(ctx, user, kind, r.ID)
}

// publish publishes a post with one to four pictures.
func publish(ctx context.Context, svc *app.App, user social.User, n int) error {
	draft := posts.Draft{Body: captions[n%len(captions)]}
	for i := range []int{1, 4, 1, 2, 3}[n%len(captions)] {
		r, err := svc.Media.Upload(ctx, user, "", landscape(uint64(100*n+i), 640, 400+80*(i%2)), media.Post)
		if err != nil {
			return err
		}
		draft.Pictures = append(draft.Pictures, media.Chosen{ID: r.ID, Alt: "Hills, one behind the other, below a low sun"})
	}
	_, err := svc.Posts.PostOnce(ctx, user, draft)
	return err
}

// hill is a row of hills in a landscape. Lengths are in pixels.
type hill struct{ base, height, wave, phase float64 }

// at returns the height of the row at x.
func (h hill) at(x float64) float64 {
	return h.base - h.height*(math.Sin(2*math.Pi*h.wave*x+h.phase)+0.4*math.Sin(5*math.Pi*h.wave*x))
}

// landscape paints hills below a sun as a JPEG. The same number always gives the same picture.
func landscape(number uint64, width, height int) []byte {
	random := rand.New(rand.NewPCG(number, 1)) // reproducible, not secret
	hue, w, h := random.Float64(), float64(width), float64(height)
	tone := func(shift, light float64) color.RGBA {
		part := func(phase float64) uint8 {
			return uint8(255 * light * (0.66 + 0.34*math.Cos(2*math.Pi*(hue+shift+phase))))
		}
		return color.RGBA{part(0), part(1.0 / 3), part(2.0 / 3), 255}
	}
	sunX, sunY, sun := w*(0.2+0.6*random.Float64()), h*(0.15+0.25*random.Float64()), h*0.08
	rows := make([]hill, 4)
	for i := range rows {
		rows[i] = hill{h * (0.5 + 0.13*float64(i)), h * (0.11 - 0.02*float64(i)), (1.2 + 1.8*random.Float64()) / w, 6 * random.Float64()}
	}
	sky, hills := make([]color.RGBA, height), make([]color.RGBA, len(rows))
	for y := range sky {
		sky[y] = tone(0.45, 0.8+0.2*float64(y)/h)
	}
	for i := range hills {
		hills[i] = tone(0.08*float64(i), 0.78-0.16*float64(i))
	}
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		var tops [4]float64
		for i, row := range rows {
			tops[i] = row.at(float64(x))
		}
		for y := range height {
			c := sky[y]
			if math.Hypot(float64(x)-sunX, float64(y)-sunY) < sun {
				c = color.RGBA{255, 244, 214, 255}
			}
			for i, top := range tops {
				if float64(y) > top {
					c = hills[i]
				}
			}
			img.SetRGBA(x, y, c)
		}
	}
	var file bytes.Buffer
	_ = jpeg.Encode(&file, img, nil) // writing to memory does not fail
	return file.Bytes()
}
