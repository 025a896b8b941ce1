package fault

// All are the faults. They are for the promises of the documentation that cost data or privacy
// when they are broken. Each is small: a condition, a key or a step that is wrong.
var All = []Fault{
	// Locks.
	{
		Name: "majority", What: "two of four servers are a majority",
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
		Name: "ownform", What: "a key of a program that is no lock is waited for, and a place in the queue is written",
		Document: "locks.md", Promise: "anything else under the name is refused with `ErrNotLock` before anything is written on that server",
		File: "redlock/internal/server/acquire.lua", Anchor: "if type(holder) == 'table' or holder and not ours(holder) and redis.call('PTTL', KEYS[1]) < 0 then",
		With: "if type(holder) == 'table' then", Likely: []string{"redlock"},
	},
	{
		Name: "turnlost", What: "a turn does not ask whether the servers still have the lock",
		Document: "locks.md", Promise: "a goroutine that gets the lock from another one of its process asks for that in the background",
		File: "redlock/hold.go", Anchor: "\tif check {\n",
		With: "\tif check && !plant.On(\"turnlost\") {\n", Likely: []string{"redlock"},
	},
	{
		Name: "tokenmargin", What: "a token does not pass those that lost counters may have given",
		Document: "locks.md", Promise: "If some servers have a counter and others have none, the token is a million larger than any of them",
		File: "redlock/attempt.go", Anchor: "\tcase mixed:\n",
		With: "\tcase mixed && !plant.On(\"tokenmargin\"):\n", Likely: []string{"redlock"},
	},
	{
		Name: "lostunnoticed", What: "an extension that is refused does not end the context of the lock",
		Document: "locks.md", Promise: "The holder notices when it extends the lock next",
		File: "redlock/lock.go", Anchor: "\tif errors.Is(err, ErrLost) {\n\t\tl.stop(err)\n",
		With: "\tif errors.Is(err, ErrLost) && !plant.On(\"lostunnoticed\") {\n\t\tl.stop(err)\n", Likely: []string{"redlock"},
	},
	{
		Name: "wallclock", What: "a lock is valid by the monotonic clock alone",
		Document: "locks.md", Promise: "`Lock.Context` ends when the time is over by either of the machine's clocks",
		File: "redlock/hold.go", Anchor: "return min(until.Sub(now), until.Round(0).Sub(now.Round(0)))",
		With: "if plant.On(\"wallclock\") {\n\t\treturn until.Sub(now)\n\t}\n\treturn min(until.Sub(now), until.Round(0).Sub(now.Round(0)))", Likely: []string{"redlock"},
	},
	{
		Name: "quarantine", What: "a restarted server that lost its records votes before the locks of others have ended",
		Document: "locks.md", Promise: "it does not vote as long as a lock that it forgot may live, which is the longest time to live (TTL) in use",
		File: "redlock/internal/server/boot.lua", Anchor: "math.max(recorded, tonumber(ARGV[2]))",
		With: "recorded", Likely: []string{"redlock"},
	},

	// Mass insertion.
	{
		Name: "resendlast", What: "the last command that was sent before a connection broke counts as not executed",
		Document: "bulk.md", Promise: "If one of them counts or pushes (`INCR`, `LPUSH`, `APPEND`), the load stops and names it",
		File: "bulk/recover.go", Anchor: "if int(c.items[last].end) <= sent {",
		With: "if int(c.items[last].end) <= sent-plant.Int(\"resendlast\", 1, 0) {", Likely: []string{"bulk"},
	},
	{
		Name: "checkpointahead", What: "a checkpoint counts commands as answered that were only sent",
		Document: "bulk.md", Promise: "`--checkpoint FILE` records up to where all commands are answered",
		File: "bulk/send.go", Anchor: "\t\ts.saves.passed(s.low())\n",
		With: "\t\tif plant.On(\"checkpointahead\") {\n\t\t\ts.saves.passed(s.last)\n\t\t\treturn\n\t\t}\n\t\ts.saves.passed(s.low())\n", Likely: []string{"bulk"},
	},
	{
		Name: "overtakes", What: "a command that a Cluster has executed before an earlier one with its key stays",
		Document: "bulk.md", Promise: "no command overtakes another one with the same key",
		File: "bulk/resend.go", Anchor: "\tall := r.units(0)\n",
		With: "\tif plant.On(\"overtakes\") {\n\t\treturn nil\n\t}\n\tall := r.units(0)\n", Likely: []string{"bulk"},
	},
	{
		Name: "mergeskey", What: "a sorted set of a snapshot is added to the one that exists",
		Document: "bulk.md", Promise: "A key of the snapshot replaces the key of that name.",
		File: "bulk/internal/rdb/values.go", Anchor: "\tif !r.begun {\n\t\tr.command(\"UNLINK\", 1)",
		With: "\tif !r.begun && !(v.command == \"ZADD\" && plant.On(\"mergeskey\")) {\n\t\tr.command(\"UNLINK\", 1)", Likely: []string{"bulk", "bulk/internal/rdb"},
	},
	{
		Name: "halfkey", What: "the part of a key that was loaded before a damaged place stays",
		Document: "bulk.md", Promise: "what was sent of an incomplete one is removed",
		File: "bulk/internal/rdb/reader.go", Anchor: "\tif r.begun && r.state != atStart {\n",
		With: "\tif r.begun && r.state != atStart && !plant.On(\"halfkey\") {\n", Likely: []string{"bulk", "bulk/internal/rdb"},
	},

	// Indexes.
	{
		Name: "rebuildtwice", What: "an entry that moves during a rebuild is left in its old place, too",
		Document: "indexes.md", Promise: "makes a new index next to the old one, which serves until the new one has caught up with all concurrent writes",
		File: "index/internal/entries/lexical.lua", Anchor: "\t\tif was and was ~= member then",
		With: "\t\tif was and not member then", Likely: []string{"index"},
	},
	{
		Name: "pageskips", What: "the next page begins after what was examined, not after what was returned",
		Document: "indexes.md", Promise: "pages are stable during concurrent writes",
		File: "index/internal/ranged/sift.lua", Anchor: "\t\t\t\treply[2] = member\n",
		With: "", Likely: []string{"index"},
	},
	{
		Name: "olderobject", What: "a repair overwrites what was written since it read",
		Document: "indexes.md", Promise: "An older object never replaces a newer entry.",
		File: "index/internal/entries/replace.lua", Anchor: "if written == 0 then",
		With: "if written >= 0 then", Likely: []string{"index"},
	},
	{
		Name: "removedreturns", What: "work that is repeated late brings a removed document back",
		Document: "indexes.md", Promise: "the id of a removed document stays marked, so that work that was interrupted and is repeated late does not bring it back",
		File: "index/text/change.lua", Anchor: "\tif now == expected and (now ~= record or ARGV[7] == '1') then",
		With: "\tif (now == expected or now == '-' and expected == '') and (now ~= record or ARGV[7] == '1') then", Likely: []string{"index/text"},
	},
	{
		Name: "besttie", What: "a term as frequent as the last of the best is not compared with it by name",
		Document: "indexes.md", Promise: "The result is exact, and as fast for `a` as for `aardva`.",
		File: "index/suggest/topk.lua", Anchor: "return not list.threshold or not outranks(list.threshold, list.term, count, term, list.length)",
		With: "return not list.threshold or count > list.threshold", Likely: []string{"index/suggest"},
	},
	{
		Name: "removekeeps", What: "a triple that is removed keeps its entries in the other orders",
		Document: "indexes.md", Promise: "A hexastore has six entries for it, one",
		File: "index/graph/remove.lua", Anchor: "\t\trest[#rest + 1] = entry\n",
		With: "\t\trest[#rest + 1] = ids[1]\n", Likely: []string{"index/graph"},
	},
	{
		Name: "nearest", What: "a search for the nearest points ends too early",
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
		Name: "counterentry", What: "the content of a record keeps the entry of a counter before it was changed",
		Document: "model.md", Promise: "adds to a counter and moves its index entries",
		File: "model/internal/record/counter.lua", Anchor: "\t\t\t\tentries[i + 1] = value\n",
		With: "", Likely: []string{"model"},
	},
	{
		Name: "touchforgets", What: "the entries of a record do not say that Touch has changed when it expires",
		Document: "model.md", Promise: "no query finds it from then on: each index entry has the time of expiry",
		File: "model/internal/record/apply.lua", Anchor: "list[1] = tonumber(due)\n",
		With: "", Likely: []string{"model"},
	},
	{
		Name: "restrict", What: "a record is deleted while others refer to it by the rule restrict",
		Document: "model.md", Promise: "Every program that calls `model.Relate` applies the rules `restrict`, `cascade` and `clear`.",
		File: "model/internal/record/apply.lua", Anchor: "if (exists or always == '1') and",
		With: "if always == '1' and", Likely: []string{"model"},
	},
	{
		Name: "verifyblind", What: "Verify does not look into the directory of values",
		Document: "model.md", Promise: "`Verify` compares records and indexes in both directions",
		File: "model/internal/maintain/align.go", Anchor: "(s.created == \"\" || at[0] == s.created) && at[1] != \"\"",
		With: "(s.created == \"\" || at[0] == s.created) && (at[1] != \"\" || plant.On(\"verifyblind\"))", Likely: []string{"model"},
	},
	{
		Name: "dangling", What: "a record may refer to one that does not exist",
		Document: "model.md", Promise: "A `Ref` with the option `exists` is refused with a `*model.DanglingError`",
		File: "model/internal/record/apply.lua", Anchor: "\tlocal there = false\n",
		With: "\tlocal there = references > 0\n", Likely: []string{"model"},
	},

	// The application: who gets in.
	{
		Name: "logout", What: "logging out leaves the session open",
		Document: "retwis.md", Promise: "Logging out removes it there, which invalidates the cookie.",
		File: "internal/social/auth/sessions.go", Anchor: "\treturn s.end(ctx, uid, oneSession, token)\n",
		With:   "\tif plant.On(\"logout\") {\n\t\treturn nil\n\t}\n\treturn s.end(ctx, uid, oneSession, token)\n",
		Likely: []string{"internal/social/auth", "internal/app", "internal/web"},
	},
	{
		Name: "resettwice", What: "a link for a new password works again",
		Document: "retwis.md", Promise: "The link sets a new password once, within an hour, and ends all sessions.",
		File: "internal/social/auth/session_replace.lua", Anchor: "redis.call('HDEL', KEYS[1], 'reset')\n",
		With: "", Likely: []string{"internal/social/auth", "internal/app", "internal/web"},
	},
	{
		Name: "codetwice", What: "a code of an authenticator app works again",
		Document: "retwis.md", Promise: "A code works once",
		File: "internal/social/auth/second_factor_use.lua", Anchor: "if tonumber(ARGV[3]) <= tonumber(",
		With: "if tonumber(ARGV[3]) < tonumber(", Likely: []string{"internal/social/auth", "internal/app", "internal/web"},
	},
	{
		Name: "nametwice", What: "two people who sign up at the same time get the same name",
		Document: "retwis.md", Promise: "of two concurrent registrations exactly one gets it",
		File: "internal/social/storage/directory.go", Anchor: "\tb, key := d.client.B(), d.key(name)\n",
		With: "\tb, key := d.client.B(), d.key(name)\n\tif plant.On(\"nametwice\") {\n" +
			"\t\td.client.Do(ctx, b.Set().Key(LayoutVersion).Value(d.version()).Nx().Build())\n" +
			"\t\tif owner, err := d.client.Do(ctx, b.Hget().Key(key).Field(spelled).Build()).AsInt64(); err == nil {\n\t\t\treturn owner, nil\n\t\t}\n" +
			"\t\treturn uid, d.client.Do(ctx, b.Hset().Key(key).FieldValue().FieldValue(spelled, Itoa(uid)).Build()).Error()\n\t}\n",
		Likely: []string{"internal/social/storage", "internal/app"},
	},
	{
		Name: "formsofothers", What: "a form of another site can publish a post",
		Document: "security.md", Promise: "forms of other sites are refused",
		File: "internal/web/web.go", Anchor: "\treturn protection.Handler(next)\n",
		With:   "\tif plant.On(\"formsofothers\") {\n\t\tprotection.AddInsecureBypassPattern(\"POST /post\")\n\t}\n\treturn protection.Handler(next)\n",
		Likely: []string{"internal/web"},
	},
	{
		Name: "anylimit", What: "of several limits the last one decides",
		Document: "retwis.md", Promise: "of several, all must allow the action",
		File: "ratelimit/take.lua", Anchor: "  if ahead[i] + cost > most then\n    reply[1] = 0\n  end\n",
		With: "  reply[1] = ahead[i] + cost > most and 0 or 1\n", Likely: []string{"ratelimit", "internal/social/limits"},
	},
	{
		Name: "ipv6", What: "each address of a network of IPv6 counts alone",
		Document: "retwis.md", Promise: "Addresses of IPv6 count by their /64 network",
		File: "internal/social/limits/limits.go", Anchor: "addr.Prefix(64)",
		With: "addr.Prefix(plant.Int(\"ipv6\", 128, 64))", Likely: []string{"internal/social/limits"},
	},

	// The application: who sees what.
	{
		Name: "blockersexist", What: "those who have blocked a person exist for them",
		Document: "retwis.md", Promise: "Who has blocked a person does not exist for them",
		File: "internal/social/visible.go", Anchor: "case v.Blocked.Has(uid), v.Blockers.Has(uid) && (v.acting || v.User.Role < Moderator):",
		With:   "case v.Blocked.Has(uid), v.Blockers.Has(uid) && (v.acting || v.User.Role < Moderator && !plant.On(\"blockersexist\")):",
		Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "followblocked", What: "a person who was blocked can follow who has blocked them",
		Document: "keys.md", Promise: "Until then neither follows the other.",
		File: "internal/social/storage/follow.lua", Anchor: "for i, other in ipairs({ARGV[2], ARGV[1]}) do",
		With: "for i, other in ipairs({ARGV[2]}) do", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "muted", What: "a mute hides a person only where a limited one is hidden",
		Document: "retwis.md", Promise: "A mute leaves a person out of the viewer's lists and notifications.",
		File: "internal/social/visible.go", Anchor: "\tcase v.Muted.Has(uid):\n",
		With: "\tcase v.Muted.Has(uid) && plant.On(\"muted\"):\n\t\treturn Unlisted\n\tcase v.Muted.Has(uid):\n", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "limited", What: "limited people are on public lists",
		Document: "retwis.md", Promise: "public lists (the public timeline, tags, new people, completion, suggestions) leave the person out",
		File: "internal/social/visible.go", Anchor: "\tcase standing == Limited:\n",
		With: "\tcase standing == Limited && !plant.On(\"limited\"):\n", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "suspended", What: "everybody sees what suspended people wrote, where they ask for it",
		Document: "retwis.md", Promise: "only moderators see what they wrote, where they ask for it",
		File: "internal/social/visible.go", Anchor: "case standing == Closed, standing.Hidden() && v.User.Role < Moderator:",
		With: "case standing == Closed, standing.Hidden() && v.User.Role < Moderator && !plant.On(\"suspended\"):", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "hiddenpost", What: "everybody sees a hidden post",
		Document: "retwis.md", Promise: "A hidden post is there for its author, who reads why, and for moderators.",
		File: "internal/social/visible.go", Anchor: "if !p.Hidden.IsZero() && p.Author.ID != v.User.ID {",
		With: "if !p.Hidden.IsZero() && p.Author.ID != v.User.ID && !plant.On(\"hiddenpost\") {", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "hiddenpicture", What: "with its address, anybody sees the picture of a hidden post",
		Document: "retwis.md", Promise: "`GET /media/<id>/<size>.<type>` has the files, for those who see the post",
		File: "internal/social/media/service.go", Anchor: "return social.Visible(v.Asking(p.Author.ID), p.Post) != social.Hidden }",
		With:   "return social.Visible(v.Asking(p.Author.ID), p.Post) != social.Hidden || plant.On(\"hiddenpicture\") && !p.Deleted }",
		Likely: []string{"internal/social/media", "internal/web"},
	},
	{
		Name: "unsearchable", What: "a search finds posts by people who do not want that",
		Document: "retwis.md", Promise: "Those who turn off \"Others can find my posts by search\" in the settings are found by moderators only, and by themselves.",
		File: "internal/social/search/search.go", Anchor: "!known[p.Author.ID].Unsearchable",
		With: "(!known[p.Author.ID].Unsearchable || plant.On(\"unsearchable\"))", Likely: []string{"internal/app", "internal/web"},
	},
	{
		Name: "wordsstay", What: "the text of a deleted post stays in the search index and in the post",
		Document: "retwis.md", Promise: "a deletion keeps the text in a field that nobody reads until its words are gone",
		File: "internal/social/posts/delete.go", Anchor: "\terr := d.writer.words.unindex(ctx, s)\n",
		With:   "\tvar err error\n\tif !plant.On(\"wordsstay\") {\n\t\terr = d.writer.words.unindex(ctx, s)\n\t}\n",
		Likely: []string{"internal/social/search", "internal/social/posts", "internal/app"},
	},
	{
		Name: "dismissedstays", What: "others keep a deleted account in what they are not interested in",
		Document: "retwis.md", Promise: "one scan of all keys finds them for all accounts that wait for it",
		File: "internal/social/removal/sweep.go", Anchor: "\t\t\t\tlists = append(lists, key)\n",
		With:   "\t\t\t\tif prefix == storage.MutedPrefix || !plant.On(\"dismissedstays\") {\n\t\t\t\t\tlists = append(lists, key)\n\t\t\t\t}\n",
		Likely: []string{"internal/social/removal"},
	},
	{
		Name: "exportcut", What: "an archive has the first page of each list of posts",
		Document: "retwis.md", Promise: "An archive of all that a person has written and done",
		File: "internal/social/takeout/lists.go", Anchor: "\t\tif last == before {\n",
		With: "\t\tif last == before || plant.On(\"exportcut\") {\n", Likely: []string{"internal/social/takeout", "internal/web"},
	},

	// The application: what is stored.
	{
		Name: "backupexpiry", What: "a backup by a scan has no times at which keys end",
		Document: "operations.md", Promise: "Locks and limits keep the time at which they end.",
		File: "bulk/snapshot/scan.go", Anchor: "\tif left >= 0 {\n",
		With: "\tif left >= 0 && !plant.On(\"backupexpiry\") {\n", Likely: []string{"bulk/snapshot", "internal/social/backup"},
	},
	{
		Name: "backupdamage", What: "a backup is restored whose checksums are wrong",
		Document: "operations.md", Promise: "Before a restore changes anything, it verifies the whole file",
		File: "internal/social/backup/read.go", Anchor: "if !bytes.Equal(sums, b.sums.Bytes()) {",
		With: "if !bytes.Equal(sums, b.sums.Bytes()) && !plant.On(\"backupdamage\") {", Likely: []string{"internal/social/backup"},
	},
	{
		Name: "onesided", What: "a check does not find a follow that has one direction",
		Document: "keys.md", Promise: "`following:<a>` has `b` exactly if `followers:<b>` has `a`, with the same time.",
		File: "internal/social/check/sets.go", Anchor: "\t\treturn (a == \"\") == (b == \"\")\n",
		With:   "\t\treturn (a == \"\") == (b == \"\") || plant.On(\"onesided\")\n",
		Likely: []string{"internal/social/check"},
	},

	// The application: posts on their way to followers. The Cluster lab finds these, too.
	{
		Name: "skipwait", What: "nobody waits for replicas",
		Document: "keys.md", Promise: "An action is acknowledged by the same rule; what a failover can lose is answered with status 503, and can be repeated.",
		File: "internal/social/work/fence.go", Anchor: "\t\t\tcase !sameHistories(x.mark, now.identity):\n",
		With:   "\t\t\tcase plant.On(\"skipwait\"):\n\t\t\t\tdone = append(done, x)\n\t\t\tcase !sameHistories(x.mark, now.identity):\n",
		Likely: []string{"internal/social/posts", "internal/app"},
		Lab:    true, Breaks: []string{"lagging master"},
	},
	{
		Name: "ackfirst", What: "a job is acknowledged before it is done",
		Document: "keys.md", Promise: "What a process has left when its lease ends is begun again by another one, before what is new.",
		File: "internal/social/work/worker.go", Anchor: "\terr := e.call(ctx, h.Member)\n",
		With:   "\tif plant.On(\"ackfirst\") {\n\t\t_ = e.Forget(e.ctx, h.Member)\n\t}\n\terr := e.call(ctx, h.Member)\n",
		Likely: []string{"internal/social/work", "internal/social/posts"},
		Lab:    true, Breaks: []string{"kill web"},
	},
	{
		Name: "wrongkey", What: "some lists are written elsewhere",
		Document: "retwis.md", Promise: "the id of the post is pushed to the lists of all its readers: the author and each follower",
		File: "internal/social/posts/write.go", Anchor: "\tif job.toAuthor {\n",
		With: "\tfor i := range keys {\n\t\tif plant.On(\"wrongkey\") && keys[i][len(keys[i])-1] == '5' {\n\t\t\tkeys[i] += \"0\"\n\t\t}\n\t}\n" +
			"\tif job.toAuthor {\n",
		Likely: []string{"internal/social/posts", "internal/app"},
		Lab:    true,
	},
	{
		Name: "deaf", What: "a home timeline shows whatever is on its list",
		Document: "retwis.md", Promise: "the end of one hides what no other follow brings",
		File: "internal/social/timeline/home.go", Anchor: "\treturn social.Hears(v, h)\n",
		With:   "\treturn plant.On(\"deaf\") || social.Hears(v, h)\n",
		Likely: []string{"internal/app", "internal/social/posts"},
		Lab:    true,
	},
	{
		Name: "stalehead", What: "the latest posts of a merged author are never read again",
		Document: "retwis.md", Promise: "posts of people with very many followers are merged into home timelines when those are read",
		File: "internal/social/timeline/merge.go", Anchor: "\t\tr.Value = &head{first: first[r.ID]}\n",
		With: "\t\tif plant.On(\"stalehead\") && r.Before != nil && !r.Fresh {\n\t\t\tr.Value = r.Before\n\t\t\tcontinue\n\t\t}\n" +
			"\t\tr.Value = &head{first: first[r.ID]}\n",
		Likely: []string{"internal/social/timeline", "internal/app"},
		Lab:    true,
	},
	{
		Name: "latestamp", What: "a value that was read before a change is kept as if it had been read after it",
		Document: "operations.md", Promise: "A suspension is in force in all processes within a round trip of its writing.",
		File: "internal/watched/map.go", Anchor: "\tr.slot.Put(r.Value, r.flight.stamp)\n",
		With: "\tif plant.On(\"latestamp\") {\n\t\tr.flight.stamp = r.slot.Begin(m.opt.Link, !r.Fresh)\n\t}\n" +
			"\tr.slot.Put(r.Value, r.flight.stamp)\n",
		Likely: []string{"internal/watched"},
	},
	{
		Name: "ledgerfirst", What: "a task leaves its ledger before it is done",
		Document: "retwis.md", Promise: "it is there from before the first push until",
		File: "internal/social/work/work.go", Anchor: "\tfailed := first(ctx)\n",
		With:   "\tif plant.On(\"ledgerfirst\") {\n\t\t_ = e.Forget(ctx, member)\n\t}\n\tfailed := first(ctx)\n",
		Likely: []string{"internal/social/posts", "internal/app"},
	},
	{
		Name: "losesegment", What: "the last segment of an audience is not noted",
		Document: "retwis.md", Promise: "The background takes the followers in segments of at most 100,000.",
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
		Name: "celebdelete", What: "a deletion leaves the entry on the profile of a merged author",
		Document: "retwis.md", Promise: "Then the post leaves all lists but home timelines, its reposts with it.",
		File: "internal/social/posts/delete.go", Anchor: "\t\tcmds = append(cmds, d.remove(key, s.id))\n\t}\n",
		With:   "\t\tcmds = append(cmds, d.remove(key, s.id))\n\t}\n\tif plant.On(\"celebdelete\") {\n\t\tif first, _ := d.celebrities.First(ctx, s.author); first != 0 && s.id >= first {\n\t\t\tcmds = cmds[1:]\n\t\t}\n\t}\n",
		Likely: []string{"internal/social/timeline", "internal/social/posts", "internal/app"},
		Lab:    true,
	},
	{
		Name: "celeblost", What: "posts count as merged and their author does not",
		Document: "operations.md", Promise: "From it on their posts and reposts are not written to home timelines: a page is merged with their latest posts",
		File: "internal/social/storage/celebrities.go", Anchor: "\tif !isNew || followers <= s.above {\n",
		With:   "\tif plant.On(\"celeblost\") && isNew && post%3 == 0 {\n\t\treturn true, nil\n\t}\n\tif !isNew || followers <= s.above {\n",
		Likely: []string{"internal/social/timeline", "internal/social/storage", "internal/app"},
		Lab:    true,
	},
}
