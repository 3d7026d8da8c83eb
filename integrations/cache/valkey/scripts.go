package valkey

import "github.com/valkey-io/valkey-go"

// scripts are what has to happen in one step at the server. In each of them the
// first key is an entry and the second its lease.
type scripts struct {
	take, store, release, renew, remove *valkey.Lua
}

func newScripts() scripts {
	return scripts{
		// Reads the entry. If it is missing, or has expired and the caller wants to refresh
		// it, tries to take the lease unless nothing but reading is wanted. Freshness is counted by the server's clock, so that
		// it ends everywhere at the same time: what is left to live beyond s is fresh.
		// ARGV: token, life of the lease in ms, what is wanted beside reading.
		// Returns: lease taken, ms to live (-1 for good, -2 missing), v, r, t, s.
		take: valkey.NewLuaScript(`
local e = redis.call('HMGET', KEYS[1], 'v', 'r', 't', 's')
local left = -2
if e[1] then
  left = redis.call('PTTL', KEYS[1])
  if left < 0 or left > tonumber(e[4]) or ARGV[3] ~= 'refresh' then
    return {0, left, e[1], e[2], e[3], e[4]}
  end
end
if ARGV[3] == 'read' then return {0, left} end
local taken = redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2])
if not e[1] then return {taken and 1 or 0, left} end
return {taken and 1 or 0, left, e[1], e[2], e[3], e[4]}`),

		// Stores an entry for who holds the lease, and gives the lease back. An invalidation
		// has removed the lease, so what was filled before it is refused.
		// ARGV: token, v, r, t, s, life in ms (0 for good). Returns whether it was stored.
		store: valkey.NewLuaScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'v', ARGV[2], 'r', ARGV[3], 't', ARGV[4], 's', ARGV[5])
if ARGV[6] == '0' then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[6]) end
redis.call('DEL', KEYS[2])
return 1`),

		// Gives the lease back. ARGV: token.
		release: valkey.NewLuaScript(`
if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('DEL', KEYS[2]) end
return 0`),

		// Keeps the lease. ARGV: token, life in ms.
		renew: valkey.NewLuaScript(`
if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return 0`),

		// Removes entry and lease and returns the number of entries removed. Where only a
		// fill was under way nothing of the entry changes, and nobody would be told: so it is
		// made to. That may be refused for want of memory; then who fills is refused later.
		// Sent in full each time: a script known by its digest would first be loaded into
		// every node of a cluster, be it away or not.
		remove: valkey.NewLuaScriptNoSha(`
local removed = redis.call('UNLINK', KEYS[1])
if redis.call('DEL', KEYS[2]) == 1 and removed == 0 then
  redis.pcall('HSET', KEYS[1], 's', '0')
  redis.call('DEL', KEYS[1])
end
return removed`),
	}
}
