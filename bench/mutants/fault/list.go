package fault

// All lists the faults. Each breaks a documented promise on which data or privacy depends, by a
// small change: a wrong condition, key or step.
var All = []Fault{
	// Locks.
	{
		Name: "majority", What: "two of four servers count as a majority",
		Document: "locks.md", Promise: "a client holds a lock if a majority of them (N/2+1) gave it",
		File: "redlock/manager.go", Anchor: "quorum:   len(servers)/2 + 1,",
		With: "quorum:   (len(servers) + plant.Int(\"majority\", 1, 2)) / 2,", Likely: []string{"redlock"},
	},
	{
		Name: "releaseother", What: "a release deletes the lock of another client",
		Document: "locks.md", Promise: "delete only your own value",
		File: "redlock/internal/server/release.lua", Anchor: "if holder ~= ARGV[3] then",
		With: "if not holder then", Likely: []string{"redlock"},
	},
	{
		Name: "ownform", What: "acquisition waits for a key that is not a lock, and writes to its queue",
		Document: "locks.md", Promise: "anything else under the name is refused with `ErrNotLock` before anything is written on that server",
		File: "redlock/internal/server/acquire.lua", Anchor: "if type(holder) == 'table' or holder and not ours(holder) and redis.call('PTTL', KEYS[1]) < 0 then",
		With: "if type(holder) == 'table' then", Likely: []string{"redlock"},
	},
	{
		Name: "turnlost", What: "a hand-over within the process does not check that the servers still have the lock",
		Document: "locks.md", Promise: "A goroutine that takes over the lock from another one checks it in the background",
		File: "redlock/hold.go", Anchor: "\tif check {\n",
		With: "\tif check && !plant.On(\"turnlost\") {\n", Likely: []string{"redlock"},
	},
	{
		Name: "tokenmargin", What: "a token can be smaller than one that a lost counter has issued",
		Document: "locks.md", Promise: "If some servers have a counter and others have none, the token is a million larger than any of them",
		File: "redlock/attempt.go", Anchor: "\tcase mixed:\n",
		With: "\tcase mixed && !plant.On(\"tokenmargin\"):\n", Likely: []string{"redlock"},
	},
	{
		Name: "lostunnoticed", What: "a refused extension does not cancel the context of the lock",
		Document: "locks.md", Promise: "The holder notices when it extends the lock next",
		File: "redlock/lock.go", Anchor: "\tif errors.Is(err, ErrLost) {\n\t\tl.stop(err)\n",
		With: "\tif errors.Is(err, ErrLost) && !plant.On(\"lostunnoticed\") {\n\t\tl.stop(err)\n", Likely: []string{"redlock"},
	},
	{
		Name: "wallclock", What: "the validity of a lock depends on the monotonic clock only",
		Document: "locks.md", Promise: "`Lock.Context` ends when the time is over by either of the machine's clocks",
		File: "redlock/hold.go", Anchor: "return min(until.Sub(now), until.Round(0).Sub(now.Round(0)))",
		With: "if plant.On(\"wallclock\") {\n\t\treturn until.Sub(now)\n\t}\n\treturn min(until.Sub(now), until.Round(0).Sub(now.Round(0)))", Likely: []string{"redlock"},
	},
	{
		Name: "quarantine", What: "a restarted server that lost its data votes before the forgotten locks have expired",
		Document: "locks.md", Promise: "it does not vote as long as a lock that it forgot may live, which is the longest time to live (TTL) in use",
		File: "redlock/internal/server/boot.lua", Anchor: "math.max(recorded, tonumber(ARGV[2]))",
		With: "recorded", Likely: []string{"redlock"},
	},

	// Mass insertion.
	{
		Name: "resendlast", What: "the last command sent before a connection broke counts as not executed",
		Document: "bulk.md", Promise: "If one of them counts or pushes (`INCR`, `LPUSH`, `APPEND`), the load stops and names it",
		File: "bulk/recover.go", Anchor: "if int(c.items[last].end) <= sent {",
		With: "if int(c.items[last].end) <= sent-plant.Int(\"resendlast\", 1, 0) {", Likely: []string{"bulk"},
	},
	{
		Name: "checkpointahead", What: "a checkpoint counts commands that were sent, but not answered",
		Document: "bulk.md", Promise: "`--checkpoint FILE` records the position up to which all commands are answered",
		File: "bulk/send.go", Anchor: "\t\ts.saves.passed(s.low())\n",
		With: "\t\tif plant.On(\"checkpointahead\") {\n\t\t\ts.saves.passed(s.last)\n\t\t\treturn\n\t\t}\n\t\ts.saves.passed(s.low())\n", Likely: []string{"bulk"},
	},
	{
		Name: "overtakes", What: "a command that a Cluster executed before an earlier command for the same key is not repeated",
		Document: "bulk.md", Promise: "no command overtakes another one with the same key",
		File: "bulk/resend.go", Anchor: "\tall := r.units(0)\n",
		With: "\tif plant.On(\"overtakes\") {\n\t\treturn nil\n\t}\n\tall := r.units(0)\n", Likely: []string{"bulk"},
	},
	{
		Name: "mergeskey", What: "a sorted set of a snapshot is merged into the existing sorted set",
		Document: "bulk.md", Promise: "A key of the snapshot replaces the key of that name.",
		File: "bulk/internal/rdb/values.go", Anchor: "\tif !r.begun {\n\t\tr.command(\"UNLINK\", 1)",
		With: "\tif !r.begun && !(v.command == \"ZADD\" && plant.On(\"mergeskey\")) {\n\t\tr.command(\"UNLINK\", 1)", Likely: []string{"bulk", "bulk/internal/rdb"},
	},
	{
		Name: "halfkey", What: "the part of a key that was loaded before corrupt data is kept",
		Document: "bulk.md", Promise: "the sent part of an incomplete key is removed",
		File: "bulk/internal/rdb/reader.go", Anchor: "\tif r.begun && r.state != atStart {\n",
		With: "\tif r.begun && r.state != atStart && !plant.On(\"halfkey\") {\n", Likely: []string{"bulk", "bulk/internal/rdb"},
	},

	// Indexes.
	{
		Name: "rebuildtwice", What: "an entry that moves during a rebuild also keeps its old position",
		Document: "indexes.md", Promise: "makes a new index next to the old one, which serves until the new one has caught up with all concurrent writes",
		File: "index/internal/entries/lexical.lua", Anchor: "\t\tif was and was ~= member then",
		With: "\t\tif was and not member then", Likely: []string{"index"},
	},
	{
		Name: "pageskips", What: "the next page starts after the last entry examined, not after the last entry returned",
		Document: "indexes.md", Promise: "pages are stable during concurrent writes",
		File: "index/internal/ranged/sift.lua", Anchor: "\t\t\t\treply[2] = member\n",
		With: "", Likely: []string{"index"},
	},
	{
		Name: "olderobject", What: "a repair overwrites entries that were written after it read them",
		Document: "indexes.md", Promise: "An older object never replaces a newer entry.",
		File: "index/internal/entries/replace.lua", Anchor: "local written = redis.call('SISMEMBER', KEYS[6], ARGV[i])",
		With: "local written = 0", Likely: []string{"index"},
	},
	{
		Name: "removedreturns", What: "a late retry brings a removed document back",
		Document: "indexes.md", Promise: "The ID of a removed document stays marked",
		File: "index/text/change.lua", Anchor: "\tif now == expected and (now ~= record or ARGV[7] == '1') then",
		With: "\tif (now == expected or now == '-' and expected == '') and (now ~= record or ARGV[7] == '1') then", Likely: []string{"index/text"},
	},
	{
		Name: "besttie", What: "a term with the same count as the last of the best terms is not compared with that term by name",
		Document: "indexes.md", Promise: "The result is exact, and as fast for `a` as for `aardva`.",
		File: "index/suggest/topk.lua", Anchor: "return not list.threshold or not outranks(list.threshold, list.term, count, term, list.length)",
		With: "return not list.threshold or count > list.threshold", Likely: []string{"index/suggest"},
	},
	{
		Name: "removekeeps", What: "a removed triple keeps its entries in the other orders",
		Document: "indexes.md", Promise: "A hexastore has six entries for it, one",
		File: "index/graph/remove.lua", Anchor: "\t\trest[#rest + 1] = entry\n",
		With: "\t\trest[#rest + 1] = ids[1]\n", Likely: []string{"index/graph"},
	},
	{
		Name: "nearest", What: "a search for the nearest points stops too early",
		Document: "indexes.md", Promise: "`nearest` sorts by distance, also within a distance, and is exact",
		File: "index/space/nearest.go", Anchor: "len(f.all) == f.k && f.all[f.k-1].distance <= radius {",
		With: "len(f.all) == f.k && (plant.On(\"nearest\") || f.all[f.k-1].distance <= radius) {", Likely: []string{"index/space"},
	},

	// Object mapping.
	{
		Name: "ownerexpires", What: "a unique value can be taken from a record that expires later",
		Document: "model.md", Promise: "| `unique` | one owner |",
		File: "model/internal/record/apply.go", Anchor: "gone.mode = mustBeNew",
		With: "gone.mode = plant.Int(\"ownerexpires\", eitherWay, mustBeNew)", Likely: []string{"model"},
	},
	{
		Name: "lostupdate", What: "Save overwrites a newer version whose index entries are the same",
		Document: "model.md", Promise: "`Save` refuses to overwrite a newer version",
		File: "model/internal/record/apply.lua", Anchor: "ARGV[a + compared + i - 1] then\n\t\t\tright, same = false, false\n",
		With: "ARGV[a + compared + i - 1] then\n\t\t\tright = false\n", Likely: []string{"model"},
	},
	{
		Name: "counterentry", What: "the stored index entries of a record keep the old value of a counter",
		Document: "model.md", Promise: "adds to a counter and moves its index entries",
		File: "model/internal/record/counter.lua", Anchor: "\t\t\t\tentries[i + 1] = value\n",
		With: "", Likely: []string{"model"},
	},
	{
		Name: "touchforgets", What: "Touch does not change the time of expiry in the index entries of a record",
		Document: "model.md", Promise: "no query finds it from then on: each index entry has the time of expiry",
		File: "model/internal/record/apply.lua", Anchor: "list[1] = tonumber(due)\n",
		With: "", Likely: []string{"model"},
	},
	{
		Name: "restrict", What: "a record is deleted although others refer to it with the rule restrict",
		Document: "model.md", Promise: "Every program that calls `model.Relate` applies the rules `restrict`, `cascade` and `clear`.",
		File: "model/internal/record/apply.lua", Anchor: "if (exists or always == '1') and",
		With: "if always == '1' and", Likely: []string{"model"},
	},
	{
		Name: "verifyblind", What: "Verify does not check the directory of values",
		Document: "model.md", Promise: "`Verify` compares records and indexes in both directions",
		File: "model/internal/maintain/align.go", Anchor: "(s.created == \"\" || at[0] == s.created) && at[1] != \"\"",
		With: "(s.created == \"\" || at[0] == s.created) && (at[1] != \"\" || plant.On(\"verifyblind\"))", Likely: []string{"model"},
	},
	{
		Name: "dangling", What: "a record can refer to a missing record",
		Document: "model.md", Promise: "A `Ref` with the option `exists` is refused with a `*model.DanglingError`",
		File: "model/internal/record/apply.lua", Anchor: "\tlocal there = false\n",
		With: "\tlocal there = references > 0\n", Likely: []string{"model"},
	},

	// The application: authentication and limits.
	{
		Name: "logout", What: "logging out leaves the session open",
		Document: "retwis.md", Promise: "Logging out removes it there, which invalidates the cookie.",
		File: "internal/social/auth/sessions.go", Anchor: "\treturn s.end(ctx, uid, oneSession, token)\n",
		With:   "\tif plant.On(\"logout\") {\n\t\treturn nil\n\t}\n\treturn s.end(ctx, uid, oneSession, token)\n",
		Likely: []string{"internal/social/auth", "internal/app", "internal/web"},
	},
	{
		Name: "resettwice", What: "a password reset link works twice",
		Document: "retwis.md", Promise: "The link sets a new password once, within an hour, and ends all sessions.",
		File: "internal/social/auth/session_replace.lua", Anchor: "redis.call('HDEL', KEYS[1], 'reset')\n",
		With: "", Likely: []string{"internal/social/auth", "internal/app", "internal/web"},
	},
	{
		Name: "codetwice", What: "a code of an authenticator app works twice",
		Document: "retwis.md", Promise: "A code works once",
		File: "internal/social/auth/second_factor_use.lua", Anchor: "if tonumber(ARGV[3]) <= tonumber(",
		With: "if tonumber(ARGV[3]) < tonumber(", Likely: []string{"internal/social/auth", "internal/app", "internal/web"},
	},
	{
		Name: "nametwice", What: "two concurrent sign-ups get the same name",
		Document: "retwis.md", Promise: "of two concurrent registrations exactly one gets it",
		File: "internal/social/storage/directory.go", Anchor: "\tb, key := d.client.B(), d.key(name)\n",
		With: "\tb, key := d.client.B(), d.key(name)\n\tif plant.On(\"nametwice\") {\n" +
			"\t\td.client.Do(ctx, b.Set().Key(LayoutVersion).Value(d.version()).Nx().Build())\n" +
			"\t\tif owner, err := d.client.Do(ctx, b.Hget().Key(key).Field(spelled).Build()).AsInt64(); err == nil {\n\t\t\treturn owner, nil\n\t\t}\n" +
			"\t\treturn uid, d.client.Do(ctx, b.Hset().Key(key).FieldValue().FieldValue(spelled, Itoa(uid)).Build()).Error()\n\t}\n",
		Likely: []string{"internal/social/storage", "internal/app"},
	},
	{
		Name: "formsofothers", What: "a form on another site can publish a post",
		Document: "security.md", Promise: "forms of other sites are refused",
		File: "internal/web/web.go", Anchor: "\treturn protection.Handler(next)\n",
		With:   "\tif plant.On(\"formsofothers\") {\n\t\tprotection.AddInsecureBypassPattern(\"POST /post\")\n\t}\n\treturn protection.Handler(next)\n",
		Likely: []string{"internal/web"},
	},
	{
		Name: "anylimit", What: "only the last of several limits counts",
		Document: "retwis.md", Promise: "an action must be allowed by all of its limits",
		File: "ratelimit/take.lua", Anchor: "  if ahead[i] + cost > span then\n    reply[1] = 0\n  end\n",
		With: "  reply[1] = ahead[i] + cost > span and 0 or 1\n", Likely: []string{"ratelimit", "internal/social/limits"},
	},
	{
		Name: "ipv6", What: "each IPv6 address has a separate limit",
		Document: "retwis.md", Promise: "IPv6 addresses count by their /64 network",
		File: "internal/social/limits/limits.go", Anchor: "addr.Prefix(64)",
		With: "addr.Prefix(plant.Int(\"ipv6\", 128, 64))", Likely: []string{"internal/social/limits"},
	},

	// The application: visibility.
	{
		Name: "blockersexist", What: "users who have blocked the viewer are visible to the viewer",
		Document: "retwis.md", Promise: "To people they have blocked, a user does not exist",
		File: "internal/social/visible.go", Anchor: "case v.Blocked.Has(uid), v.Blockers.Has(uid) && (v.acting || v.User.Role < Moderator):",
		With:   "case v.Blocked.Has(uid), v.Blockers.Has(uid) && (v.acting || v.User.Role < Moderator && !plant.On(\"blockersexist\")):",
		Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "followblocked", What: "a blocked user can follow the user who blocked them",
		Document: "keys.md", Promise: "Until then neither follows the other.",
		File: "internal/social/storage/follow.lua", Anchor: "for i, other in ipairs({ARGV[2], ARGV[1]}) do",
		With: "for i, other in ipairs({ARGV[2]}) do", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "muted", What: "a muted user is hidden only where limited users are hidden",
		Document: "retwis.md", Promise: "A mute hides a person from the viewer's lists and notifications.",
		File: "internal/social/visible.go", Anchor: "\tcase v.Muted.Has(uid):\n",
		With: "\tcase v.Muted.Has(uid) && plant.On(\"muted\"):\n\t\treturn Unlisted\n\tcase v.Muted.Has(uid):\n", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "limited", What: "limited users appear on public lists",
		Document: "retwis.md", Promise: "public lists (the public timeline, tags, new people, completion, suggestions) leave the person out",
		File: "internal/social/visible.go", Anchor: "\tcase standing == Limited:\n",
		With: "\tcase standing == Limited && !plant.On(\"limited\"):\n", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "suspended", What: "posts by suspended users are visible to everybody",
		Document: "retwis.md", Promise: "only moderators can see their posts, on request",
		File: "internal/social/visible.go", Anchor: "case standing == Closed, standing.Hidden() && v.User.Role < Moderator:",
		With: "case standing == Closed, standing.Hidden() && v.User.Role < Moderator && !plant.On(\"suspended\"):", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "hiddenpost", What: "a hidden post is visible to everybody",
		Document: "retwis.md", Promise: "A hidden post is visible only to its author, with the reason, and to moderators.",
		File: "internal/social/visible.go", Anchor: "if !p.Hidden.IsZero() && p.Author.ID != v.User.ID {",
		With: "if !p.Hidden.IsZero() && p.Author.ID != v.User.ID && !plant.On(\"hiddenpost\") {", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "hiddenpicture", What: "the picture of a hidden post is visible to anybody who has its URL",
		Document: "retwis.md", Promise: "`GET /media/<id>/<size>.<type>` returns the files to those who may see the post",
		File: "internal/social/media/service.go", Anchor: "return social.Visible(v.Asking(p.Author.ID), p.Post) != social.Hidden }",
		With:   "return social.Visible(v.Asking(p.Author.ID), p.Post) != social.Hidden || plant.On(\"hiddenpicture\") && !p.Deleted }",
		Likely: []string{"internal/social/media", "internal/web"},
	},
	{
		Name: "unsearchable", What: "a search finds posts by users who opted out of search",
		Document: "retwis.md", Promise: "If users turn off \"Others can find my posts by search\", only they and moderators find their posts.",
		File: "internal/social/search/search.go", Anchor: "!known[p.Author.ID].Unsearchable",
		With: "(!known[p.Author.ID].Unsearchable || plant.On(\"unsearchable\"))", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "wordsstay", What: "a deletion keeps the text of the post in the search index and in the post",
		Document: "retwis.md", Promise: "a deletion keeps the text in the field `deleted_body`, never shown, until its words are gone",
		File: "internal/social/posts/delete.go", Anchor: "\terr := d.writer.words.unindex(ctx, s)\n",
		With:   "\tvar err error\n\tif !plant.On(\"wordsstay\") {\n\t\terr = d.writer.words.unindex(ctx, s)\n\t}\n",
		Likely: []string{"internal/social/search", "internal/social/posts", "internal/app"},
	},
	{
		Name: "dismissedstays", What: "a deleted account stays in the dismissed suggestions of other users",
		Document: "retwis.md", Promise: "one scan of all keys finds them for all closed accounts",
		File: "internal/social/removal/sweep.go", Anchor: "\t\t\t\tlists = append(lists, key)\n",
		With:   "\t\t\t\tif prefix == storage.MutedPrefix || !plant.On(\"dismissedstays\") {\n\t\t\t\t\tlists = append(lists, key)\n\t\t\t\t}\n",
		Likely: []string{"internal/social/removal"},
	},
	{
		Name: "exportcut", What: "an archive has only the first page of each list of posts",
		Document: "retwis.md", Promise: "The export is an archive of everything a user has written and done",
		File: "internal/social/takeout/lists.go", Anchor: "\t\tif last == before {\n",
		With: "\t\tif last == before || plant.On(\"exportcut\") {\n", Likely: []string{"internal/social/takeout", "internal/web"},
	},

	// The application: backups and consistency.
	{
		Name: "backupexpiry", What: "a backup made by a scan lacks the expiry of keys",
		Document: "operations.md", Promise: "Locks and rate limits keep their expiry.",
		File: "bulk/snapshot/scan.go", Anchor: "\tif left >= 0 {\n",
		With: "\tif left >= 0 && !plant.On(\"backupexpiry\") {\n", Likely: []string{"bulk/snapshot", "internal/social/backup"},
	},
	{
		Name: "backupdamage", What: "a backup with wrong checksums is restored",
		Document: "operations.md", Promise: "Before a restore changes anything, it verifies the whole file",
		File: "internal/social/backup/read.go", Anchor: "if !bytes.Equal(sums, b.sums.Bytes()) {",
		With: "if !bytes.Equal(sums, b.sums.Bytes()) && !plant.On(\"backupdamage\") {", Likely: []string{"internal/social/backup"},
	},
	{
		Name: "onesided", What: "a check does not detect a follow that is stored in one direction only",
		Document: "keys.md", Promise: "`following:<a>` has `b` exactly if `followers:<b>` has `a`, with the same time.",
		File: "internal/social/check/sets.go", Anchor: "\t\treturn (a == \"\") == (b == \"\")\n",
		With:   "\t\treturn (a == \"\") == (b == \"\") || plant.On(\"onesided\")\n",
		Likely: []string{"internal/social/check"},
	},

	// The application: delivery of posts to followers. The Cluster lab also detects most of these faults.
	{
		Name: "skipwait", What: "writes do not wait for replicas",
		Document: "keys.md", Promise: "Actions are acknowledged by the same rule: if a failover could lose the write, the status is 503 and the action can be repeated.",
		File: "internal/social/work/fence.go", Anchor: "\t\t\tcase !sameHistories(x.mark, now.identity):\n",
		With:   "\t\t\tcase plant.On(\"skipwait\"):\n\t\t\t\tdone = append(done, x)\n\t\t\tcase !sameHistories(x.mark, now.identity):\n",
		Likely: []string{"internal/social/posts", "internal/app"},
		Lab:    true, Breaks: []string{"lagging master"},
	},
	{
		Name: "ackfirst", What: "a job is acknowledged before it is done",
		Document: "keys.md", Promise: "When a lease expires, another process restarts the task before any new one.",
		File: "internal/social/work/worker.go", Anchor: "\terr := e.call(ctx, h.Member)\n",
		With:   "\tif plant.On(\"ackfirst\") {\n\t\t_ = e.Forget(e.ctx, h.Member)\n\t}\n\terr := e.call(ctx, h.Member)\n",
		Likely: []string{"internal/social/work", "internal/social/posts"},
		Lab:    true, Breaks: []string{"kill web"},
	},
	{
		Name: "wrongkey", What: "some lists are written under wrong keys",
		Document: "retwis.md", Promise: "the ID of the post is pushed to the lists of all its readers: the author and each follower",
		File: "internal/social/posts/write.go", Anchor: "\tif job.toAuthor {\n",
		With: "\tfor i := range keys {\n\t\tif plant.On(\"wrongkey\") && keys[i][len(keys[i])-1] == '5' {\n\t\t\tkeys[i] += \"0\"\n\t\t}\n\t}\n" +
			"\tif job.toAuthor {\n",
		Likely: []string{"internal/social/posts", "internal/app"},
		Lab:    true,
	},
	{
		Name: "deaf", What: "a home timeline shows everything on its list",
		Document: "retwis.md", Promise: "Unfollowing hides posts that no other follow brings",
		File: "internal/social/timeline/home.go", Anchor: "\treturn social.BelongsOnHome(v, post)\n",
		With:   "\treturn plant.On(\"deaf\") || social.BelongsOnHome(v, post)\n",
		Likely: []string{"internal/app", "internal/social/posts"},
		Lab:    true,
	},
	{
		Name: "stalehead", What: "the latest posts of a merged author are never read again",
		Document: "retwis.md", Promise: "posts of authors with very many followers are merged into home timelines when those are read",
		File: "internal/social/timeline/merge.go", Anchor: "\t\tr.Value = &head{first: first[r.ID]}\n",
		With: "\t\tif plant.On(\"stalehead\") && r.Before != nil && !r.Fresh {\n\t\t\tr.Value = r.Before\n\t\t\tcontinue\n\t\t}\n" +
			"\t\tr.Value = &head{first: first[r.ID]}\n",
		Likely: []string{"internal/social/timeline", "internal/app"},
		Lab:    true,
	},
	{
		Name: "latestamp", What: "a value read before a change is cached as if it had been read after the change",
		Document: "operations.md", Promise: "A suspension takes effect in all processes within one round trip.",
		File: "internal/watched/map.go", Anchor: "\tr.slot.Put(r.Value, r.flight.stamp)\n",
		With: "\tif plant.On(\"latestamp\") {\n\t\tr.flight.stamp = r.slot.Begin(m.opt.Link, !r.Fresh)\n\t}\n" +
			"\tr.slot.Put(r.Value, r.flight.stamp)\n",
		Likely: []string{"internal/watched"},
	},
	{
		Name: "ledgerfirst", What: "a task leaves the ledger before it is done",
		Document: "retwis.md", Promise: "it is there from before the first push until",
		File: "internal/social/work/work.go", Anchor: "\tfailed := first(ctx)\n",
		With:   "\tif plant.On(\"ledgerfirst\") {\n\t\t_ = e.Forget(ctx, member)\n\t}\n\tfailed := first(ctx)\n",
		Likely: []string{"internal/social/posts", "internal/app"},
	},
	{
		Name: "losesegment", What: "the last segment of an audience is not added to the ledger",
		Document: "retwis.md", Promise: "Background work is split into segments of at most 100,000 followers",
		File: "internal/social/posts/segment.go", Anchor: "\treturn members, g.tasks.Note(ctx, members...) // queued once the first pages are written\n",
		With: "\tif plant.On(\"losesegment\") {\n\t\tif members = members[:len(members)-1]; len(members) == 0 {\n\t\t\treturn nil, nil\n\t\t}\n\t}\n" +
			"\treturn members, g.tasks.Note(ctx, members...) // queued once the first pages are written\n",
		Likely: []string{"internal/social/posts"},
		Lab:    true,
	},
	{
		Name: "blockends", What: "a block ends no follow",
		Document: "retwis.md", Promise: "A block ends both follows and hides both people from each other everywhere.",
		File: "internal/social/posts/blocks.go", Anchor: "\tuntil, err := h.blockedUntil(ctx, from, to)\n\tif err != nil {\n",
		With:   "\tif plant.On(\"blockends\") {\n\t\treturn nil\n\t}\n\tuntil, err := h.blockedUntil(ctx, from, to)\n\tif err != nil {\n",
		Likely: []string{"internal/app", "internal/social/posts"},
		Lab:    true,
	},
	{
		Name: "celebdelete", What: "a deletion keeps the entry on the profile of a merged author",
		Document: "retwis.md", Promise: "Then the post and its reposts are removed from all lists but home timelines.",
		File: "internal/social/posts/delete.go", Anchor: "\t\tcmds = append(cmds, d.remove(key, s.id))\n\t}\n",
		With:   "\t\tcmds = append(cmds, d.remove(key, s.id))\n\t}\n\tif plant.On(\"celebdelete\") {\n\t\tif first, _ := d.celebrities.First(ctx, s.author); first != 0 && s.id >= first {\n\t\t\tcmds = cmds[1:]\n\t\t}\n\t}\n",
		Likely: []string{"internal/social/timeline", "internal/social/posts", "internal/app"},
		Lab:    true,
	},
	{
		Name: "celeblost", What: "posts are treated as merged although their author is not",
		Document: "operations.md", Promise: "From then on, the author's posts and reposts are not written to home timelines: pages merge them in when they are read.",
		File: "internal/social/storage/celebrities.go", Anchor: "\tif !isNew || followers <= s.above {\n",
		With:   "\tif plant.On(\"celeblost\") && isNew && post%3 == 0 {\n\t\treturn true, nil\n\t}\n\tif !isNew || followers <= s.above {\n",
		Likely: []string{"internal/social/timeline", "internal/social/storage", "internal/app"},
		Lab:    true,
	},
}
