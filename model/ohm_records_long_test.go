//go:build long

package model_test

import (
	"regexp"
	"strings"

	"retwis/model"
)

type (
	ohmAuthor struct {
		ID    string `redis:",id"`
		Fname *string
		Mood  string             `redis:"mood,index"`
		Book  model.Ref[ohmBook] `redis:"book,index"`
	}
	ohmBook struct {
		ID   string `redis:",id"`
		Name string
	}
	ohmUser struct {
		ID     string  `redis:",id"`
		Fname  string  `redis:"fname,range"`
		Lname  string  `redis:"lname,index"`
		Status *string `redis:"status,index"`
	}
	ohmMail struct {
		ID         string  `redis:",id"`
		Email      *string `redis:"email,index"`
		Update     string  `redis:"update,index"`
		Activation string  `redis:"activation_code,index"`
		Float      float64 `redis:"float,index"`
		Capacity   int     `redis:"capacity"`
	}
	ohmUnique struct {
		ID    string  `redis:",id"`
		Email *string `redis:"email,unique"`
	}
	ohmPost struct {
		ID        string     `redis:",id"`
		Body      string     `redis:"body,range"`
		Published bool       `redis:"published"`
		Comments  model.List `redis:"comments"`
		Posts     model.Set  `redis:"posts"`
		Related   model.List `redis:"related"`
	}
	ohmEvent struct {
		ID        string    `redis:",id"`
		Name      *string   `redis:"name,range"`
		Location  *string   `redis:"location"`
		Votes     int       `redis:"votes,counter"`
		Attendees model.Set `redis:"attendees"`
	}
	ohmPerson struct {
		ID     string `redis:",id"`
		Name   string `redis:"name,range"`
		Logins int    `redis:"logins,counter,range"`
	}
	ohmEntry struct {
		ID   string `redis:",id"`
		Tags string `redis:"tags"`
	}
	ohmEmpty struct {
		ID string `redis:",id"`
	}
	ohmOwn struct {
		ID   string `redis:",id"`
		Name string `redis:"name"`
	}
)

func (ohmMail) Indexes() []model.Index[ohmMail] {
	return []model.Index[ohmMail]{
		model.Computed("provider", func(u ohmMail) *string {
			if u.Email == nil {
				return nil
			}
			_, provider, _ := strings.Cut(*u.Email, "@")
			return &provider
		}),
		model.Computed("available", func(u ohmMail) bool { return u.Capacity <= 90 }),
	}
}

func (ohmUnique) Indexes() []model.Index[ohmUnique] {
	return []model.Index[ohmUnique]{model.Computed("provider", func(u ohmUnique) *string {
		if u.Email == nil {
			return nil
		}
		found := regexp.MustCompile(`@(.*?).com`).FindStringSubmatch(*u.Email)
		if found == nil {
			return nil
		}
		return &found[1]
	}).Unique()}
}

func (ohmPerson) Indexes() []model.Index[ohmPerson] {
	return []model.Index[ohmPerson]{model.Computed("initial", func(p ohmPerson) string { return strings.ToUpper(p.Name[:min(1, len(p.Name))]) })}
}

func (ohmEntry) Indexes() []model.Index[ohmEntry] {
	return []model.Index[ohmEntry]{model.Computed("tag", func(e ohmEntry) []string { return strings.Fields(e.Tags) })}
}

// ohmJohnAndJane returns the records of filtering.rb.
func ohmJohnAndJane(c *ohmCase) (users *model.Store[ohmUser], john, jane ohmUser) {
	users = ohmStore[ohmUser](c, "user")
	john = mustCreate(c, users, ohmUser{Fname: "John", Lname: "Doe", Status: ptr("active")})
	jane = mustCreate(c, users, ohmUser{Fname: "Jane", Lname: "Doe", Status: ptr("active")})
	return users, john, jane
}

// ohmBooks returns the records of the second part of filtering.rb.
func ohmBooks(c *ohmCase) (authors *model.Store[ohmAuthor], one, two ohmBook) {
	books := ohmStore[ohmBook](c, "book")
	authors = ohmStore[ohmAuthor](c, "author")
	one, two = mustCreate(c, books, ohmBook{}), mustCreate(c, books, ohmBook{})
	mustCreate(c, authors, ohmAuthor{Book: model.To[ohmBook](one.ID), Mood: "happy"})
	mustCreate(c, authors, ohmAuthor{Book: model.To[ohmBook](one.ID), Mood: "sad"})
	mustCreate(c, authors, ohmAuthor{Book: model.To[ohmBook](two.ID), Mood: "sad"})
	return authors, one, two
}

// ohmComments returns the records of list.rb.
func ohmComments(c *ohmCase) (posts *model.Store[ohmPost], post ohmPost, comments *model.Values, ids []string) {
	posts = ohmStore[ohmPost](c, "post")
	post = mustCreate(c, posts, ohmPost{})
	comments = posts.List("comments", post.ID)
	for range 3 {
		ids = append(ids, mustCreate(c, posts, ohmPost{}).ID)
	}
	c.ok(errOf(comments.PushBack(c.ctx, ids...)))
	return posts, post, comments, ids
}

// ohmAttendees returns the records of the sets in model.rb.
func ohmAttendees(c *ohmCase) (people *model.Store[ohmPerson], attendees *model.Members, a, b, d ohmPerson) {
	events := ohmStore[ohmEvent](c, "event")
	people = ohmStore[ohmPerson](c, "person")
	a, b = mustCreate(c, people, ohmPerson{Name: "Albert"}), mustCreate(c, people, ohmPerson{Name: "Bertrand"})
	d = mustCreate(c, people, ohmPerson{Name: "Charles"})
	event := mustCreate(c, events, ohmEvent{Name: ptr("Ruby Tuesday")})
	attendees = events.Set("attendees", event.ID)
	c.ok(errOf(attendees.Put(c.ctx, a.ID, b.ID)))
	return people, attendees, a, b, d
}
