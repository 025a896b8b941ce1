package web_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
)

// Users see their own actions at once, whichever process serves the next page. Other users see an
// action on each page that they request more than a second later, even if they read all the time.
func TestActsShowOnAllProcesses(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	local, remote := serving(t, reach(t, db.URL())), serving(t, reach(t, db.URL()))
	ada, ben := local.signedUp("ada"), local.signedUp("ben")
	path, id := ada.published("ada", "hello")
	benRemote, adaRemote, stranger := &visitor{site: remote, http: ben.http}, &visitor{site: remote, http: ada.http}, remote.visitor()
	pages := []string{path, "/timeline", "/u/ada"}
	for _, page := range pages { // all processes have cached the post
		for _, v := range []*visitor{ada, ben, benRemote, adaRemote, stranger} {
			v.get(page).want(200)
		}
	}
	likes := func(a *response) string { return strings.Fields(a.want(200).counts(id))[2] }
	for round, act := range []string{"like", "unlike"} {
		want := strconv.Itoa((round + 1) % 2)
		ben.send(path + "/" + act).want(303)
		answered := time.Now()
		for _, page := range pages {
			if got := likes(benRemote.get(page)); got != want {
				t.Errorf("round %d: %s shows %s likes to the user who acted, want %s", round, page, got, want)
			}
			if on := strings.Contains(benRemote.get(page).article(id), `formaction="`+path+`/unlike"`); on != (act == "like") {
				t.Errorf("round %d: %s has the wrong button", round, page)
			}
		}
		tick := time.NewTicker(20 * time.Millisecond)
		for late := false; !late; <-tick.C {
			late = time.Since(answered) > promise
			for _, v := range []*visitor{stranger, adaRemote, ada} {
				for _, page := range pages {
					if got := likes(v.get(page)); late && got != want {
						t.Errorf("round %d: %s shows %s likes to others, want %s", round, page, got, want)
					}
				}
			}
		}
		tick.Stop()
	}
}

// Under load on three processes, like counts are at most a second old, and a user's own like shows
// at once.
func TestCountsUnderLoad(t *testing.T) {
	t.Parallel()
	const people, length = 40, 3 * promise / 2
	db := redistest.DB(t)
	var sites [3]*site
	for i := range sites {
		sites[i] = serving(t, reach(t, db.URL()))
	}
	ada := sites[0].signedUp("ada")
	path, id := ada.published("ada", "hello")
	var fans []social.User
	for i := range people {
		name := "fan" + strconv.Itoa(i)
		sites[0].signedUp(name)
		fans = append(fans, sites[0].user(name))
	}
	// since[n] is a time by which the post had more than n likes; no like is removed.
	var mu sync.Mutex
	var since []time.Time
	var wg sync.WaitGroup
	end := make(chan struct{})
	// often calls do again and again until end is closed.
	often := func(do func(n int)) {
		wg.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				do(n)
				select {
				case <-tick.C:
				case <-end:
					return
				}
			}
		})
	}
	// Other users write and like other posts all the time.
	for i := range 2 {
		author := fans[i]
		often(func(n int) {
			post, err := sites[1+i].social.Posts.Post(t.Context(), author, "noise "+strconv.Itoa(n))
			if err == nil {
				err = sites[2-i].social.Reactions.Like(t.Context(), fans[n%people], post.ID)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for _, s := range sites {
		reader := s.visitor()
		often(func(int) {
			asked := time.Now()
			got, _ := strconv.Atoi(strings.Fields(reader.get(path).want(200).counts(id))[2])
			mu.Lock()
			defer mu.Unlock()
			if got < len(since) && asked.Sub(since[got]) > promise {
				t.Errorf("a count was %v old", asked.Sub(since[got]))
			}
		})
	}
	for i, fan := range fans {
		if err := sites[i%3].social.Reactions.Like(t.Context(), fan, 1); err != nil {
			t.Error(err)
		}
		mu.Lock()
		since = append(since, time.Now())
		mu.Unlock()
		time.Sleep(length / people)
	}
	close(end)
	wg.Wait()
	for i, s := range sites {
		fan := s.signedUp("late" + strconv.Itoa(i))
		fan.send(path + "/like").want(303)
		if got := fan.get(path).want(200); !strings.Contains(got.article(id), path+"/unlike") || got.counts(id) != "0 0 "+strconv.Itoa(people+1+i) {
			t.Errorf("the user's own like does not show: counts %s", got.counts(id))
		}
	}
}

// Texts of users never become markup, and no link runs a script.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	const script = `<script>alert(1)</script>`
	ada.send("/settings/profile", "display_name", script, "bio", `"><img src=x onerror=alert(1)>`, "links", `javascript:alert(1)`)
	for _, text := range []string{
		script, `"><img src=x onerror=alert(1)>`, `javascript:alert(1)`, `https://x.example/"onmouseover="alert(1)`,
		`https://x.example/<script>`, `@ada"onclick=alert(1)`, `#tag"onclick=alert(1)`, `</p></article><script>alert(1)</script>`,
		`&lt;script&gt; https://x.example/?a=1&b=<i>`, "data:text/html,<script>alert(1)</script>", "HTTPS://x.example/'><svg onload=alert(1)>",
	} {
		ada.send("/post", "status", text).want(303)
		id := ada.get("/u/ada").posts()[0]
		path := "/u/ada/" + id
		ben.send(path+"/reply", "status", text).want(303)
		ben.send(path + "/repost").want(303)
		ada.send(path+"/edit", "status", text+".").want(303)
		for _, page := range []string{path, path + "/history", path + "/edit", path + "/delete", path + "/reposts", "/timeline", "/u/ada", "/u/ben", "/home", "/notifications"} {
			a := ada.get(page).want(200).wantNot("<script>alert", "<img src=x", "<svg onload", `href="javascript:`, `href="data:`)
			for _, attribute := range []string{"onmouseover", "onclick", "onerror"} {
				if strings.Contains(a.body, `"`+attribute) || strings.Contains(a.body, ` `+attribute+`="`) {
					t.Errorf("%s has an attribute %s for %q", page, attribute, text)
				}
			}
		}
	}
}
