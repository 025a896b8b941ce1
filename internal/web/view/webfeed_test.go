package view

import (
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
)

// Feeds have the pictures of posts, except sensitive pictures.
func TestFeedsOfSensitivePictures(t *testing.T) {
	t.Parallel()
	pictures := social.FormatMedia([]social.Picture{{
		ID: strings.Repeat("a", 32), Files: []social.PictureFile{{Name: "400.jpg", Width: 400, Height: 300}},
	}})
	for _, isSensitive := range []bool{false, true} {
		post := &timeline.View{Post: social.Post{ID: 7, Author: social.User{ID: 1, Name: "ada"}, Body: "look", Media: pictures, Sensitive: isSensitive}}
		feed := WebFeed{Origin: "https://retwis.example", Items: []timeline.Item{{Entry: post, Post: post}}}
		for name, format := range map[string]func() ([]byte, error){"Atom": feed.XML, "JSON": feed.JSON} {
			text, err := format()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "look") || strings.Contains(string(text), "400.jpg") == isSensitive {
				t.Errorf("%s, sensitive %t: %s", name, isSensitive, text)
			}
		}
	}
}
