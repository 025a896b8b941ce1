package seed

import (
	"iter"
	"math"
	"math/rand/v2"
	"sort"
	"time"
)

// network generates a network, which depends only on the options. It stores only the popularity of
// the users.
type network struct {
	opt   Options
	start time.Time
	// cumulative[i] is the sum of the popularity of users 0 to i. Searching cumulative for a random
	// number draws a user by popularity.
	cumulative []float64
}

// Independent random streams, so that the number of events of one kind does not change the other
// kinds.
const (
	streamPopularity = iota + 1
	streamFollows
	streamPosts
	streamTalk
)

// popularityExponent is the exponent by which popularity falls with rank, so that the numbers of
// followers follow a power law, as in real networks.
const popularityExponent = 0.85

func newNetwork(opt Options) *network {
	n := &network{opt: opt, start: opt.Until.Add(-month), cumulative: make([]float64, opt.Users)}
	rng := n.stream(streamPopularity)
	ranks := rng.Perm(opt.Users)
	// The first user, whose login is returned, is popular, so that the pages of this user have content.
	for i, rank := range ranks {
		if at := opt.Users / 50; rank == at {
			ranks[0], ranks[i] = ranks[i], ranks[0]
			break
		}
	}
	sum := 0.0
	for i, rank := range ranks {
		sum += math.Pow(float64(rank+1), -popularityExponent)
		n.cumulative[i] = sum
	}
	return n
}

func (n *network) stream(kind uint64) *rand.Rand {
	return rand.New(rand.NewPCG(n.opt.Seed, kind)) // reproducible, not secret
}

// name returns the name of user i.
func (n *network) name(i int) string {
	if i == 0 && n.opt.FirstName != "" {
		return n.opt.FirstName
	}
	return userName(n.opt.Seed, i)
}

// joined returns when user i registered. Users register in order, during the first three weeks.
func (n *network) joined(i int) time.Time {
	return n.start.Add(time.Duration(float64(month) * 0.7 * float64(i) / float64(n.opt.Users)))
}

// draw returns a random user, weighted by popularity.
func (n *network) draw(rng *rand.Rand) int {
	at := rng.Float64() * n.cumulative[len(n.cumulative)-1]
	return min(sort.SearchFloat64s(n.cumulative, at), len(n.cumulative)-1)
}

type follow struct {
	from, to int
	at       time.Time
}

// follows generates the follows.
func (n *network) follows() iter.Seq[follow] {
	return func(yield func(follow) bool) {
		rng := n.stream(streamFollows)
		left := n.opt.Follows
		for from := range n.opt.Users {
			k := n.share(rng, left, n.opt.Users-from)
			left -= k
			for to := range n.targets(rng, from, k) {
				since := n.joined(max(from, to))
				at := since.Add(time.Duration(rng.Float64() * float64(n.opt.Until.Sub(since))))
				if !yield(follow{from: from, to: to, at: at}) {
					return
				}
			}
		}
	}
}

// share returns how many of the remaining follows the next user makes.
func (n *network) share(rng *rand.Rand, left, users int) int {
	if users == 1 {
		return left
	}
	all := n.opt.Users - 1
	k := int(float64(left) / float64(users) * rng.ExpFloat64())
	// At most one follow per other user, and enough that the next users can make the remaining follows.
	return max(min(k, all, left), left-(users-1)*all)
}

// targets returns k users other than from, weighted by popularity.
func (n *network) targets(rng *rand.Rand, from, k int) iter.Seq[int] {
	return func(yield func(int) bool) {
		chosen := map[int]bool{from: true}
		for range k {
			to := n.draw(rng)
			for tries := 0; chosen[to]; tries++ {
				if tries < 8 {
					to = n.draw(rng)
				} else {
					to = (to + 1) % n.opt.Users
				}
			}
			chosen[to] = true
			if !yield(to) {
				return
			}
		}
	}
}

type post struct {
	author int
	at     time.Time
	body   string
}

// posts generates the posts in chronological order.
func (n *network) posts() iter.Seq[post] {
	return func(yield func(post) bool) {
		rng := n.stream(streamPosts)
		for i := range n.opt.Posts {
			at := n.start.Add(time.Duration(float64(month) * (float64(i) + rng.Float64()) / float64(n.opt.Posts)))
			author := n.draw(rng)
			for tries := 0; n.joined(author).After(at); tries++ {
				if author = n.draw(rng); tries > 8 {
					author = rng.IntN(author + 1) // a user who registered earlier
				}
			}
			if !yield(post{author: author, at: at, body: sentence(rng)}) {
				return
			}
		}
	}
}
