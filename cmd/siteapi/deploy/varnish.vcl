# Varnish in front of the service. It requires version 7 or later and the module xkey (Debian: varnish, varnish-modules).
#
# It caches responses to GET /graphql with content for the lifetime in CDN-Cache-Control, and drops them when the service
# purges them:
#
#   CDN_MAX_AGE=1h CDN_PURGE_KIND=varnish CDN_PURGE_URL=http://varnish:6081/ CDN_PURGE_TOKEN=… siteapi
#   CDN_PURGE_TOKEN=… varnishd -a :6081 -f /etc/varnish/siteapi.vcl
#
# TRUSTED_PROXIES of the service must include Varnish. CORS_ALLOWED_ORIGINS should be *: with a list, responses are cached
# per origin.
vcl 4.1;

import std;
import var;
import xkey;

backend default {
    .host = "127.0.0.1";
    .port = "8080";
    .connect_timeout = 2s;
    .first_byte_timeout = 15s;
}

sub vcl_init {
    var.global_set("purge", "none");
}

sub vcl_recv {
    if (req.method == "PURGE") {
        if (std.getenv("CDN_PURGE_TOKEN") == "" ||
            req.http.Authorization != "Bearer " + std.getenv("CDN_PURGE_TOKEN")) {
            return (synth(403, "Forbidden"));
        }
        # Running fetches are not in the index yet: they compare this number when they end.
        var.global_set("purge", req.xid);
        std.log("softpurged: " + xkey.softpurge(req.http.Cache-Tag));
        return (synth(200, "Purged"));
    }

    if ((req.method != "GET" && req.method != "HEAD") || req.http.Authorization || req.http.X-Preview ||
        req.url !~ "^/graphql\?" && req.url !~ "^/((calculator|docs|playground)/)?assets/") {
        return (pass);
    }

    # Stale responses are used only while the service is unavailable: see vcl_synth.
    if (req.restarts == 0) {
        unset req.http.X-Stale;
        set req.grace = 0s;
    } else {
        set req.grace = 24h;
    }
    unset req.http.Cookie;
    return (hash);
}

sub vcl_backend_fetch {
    var.set("purge", var.global_get("purge"));
    var.set("stale", "" + bereq.http.X-Stale);
    unset bereq.http.X-Stale;
}

sub vcl_backend_response {
    # An error must not replace a cached response, which the restart delivers.
    if (beresp.status >= 500 && !bereq.uncacheable && (bereq.is_bgfetch || var.get("stale") == "")) {
        return (abandon);
    }
    if (bereq.uncacheable) {
        return (deliver);
    }
    if (beresp.status != 200 || beresp.http.Cache-Control !~ "public") {
        set beresp.uncacheable = true;
        set beresp.ttl = 120s;
        return (deliver);
    }
    if (bereq.url !~ "^/graphql\?") {
        return (deliver);
    }

    std.collect(beresp.http.CDN-Cache-Control);
    std.collect(beresp.http.Surrogate-Key, " ");
    if (beresp.http.CDN-Cache-Control !~ "max-age=[0-9]+" || !beresp.http.Surrogate-Key) {
        # Later responses may be cacheable. Until then requests do not wait for each other.
        set beresp.uncacheable = true;
        set beresp.ttl = 120s;
        return (deliver);
    }
    if (var.get("purge") != var.global_get("purge")) {
        set beresp.ttl = 0s;
        set beresp.grace = 0s;
        set beresp.keep = 0s;
        return (deliver);
    }

    set beresp.ttl = std.duration(regsub(beresp.http.CDN-Cache-Control, "^.*max-age=([0-9]+).*$", "\1s"), 0s);
    set beresp.grace = 24h;
    set beresp.http.xkey = beresp.http.Surrogate-Key;
    return (deliver);
}

sub vcl_backend_error {
    if (!bereq.uncacheable && (bereq.is_bgfetch || var.get("stale") == "")) {
        return (abandon);
    }
}

sub vcl_synth {
    # The service is unavailable: a stale response is better than an error.
    if (resp.status == 503 && req.restarts == 0 && req.method != "PURGE") {
        set req.http.X-Stale = "1";
        return (restart);
    }
}

sub vcl_deliver {
    unset resp.http.CDN-Cache-Control;
    unset resp.http.Cache-Tag;
    unset resp.http.Surrogate-Key;
    unset resp.http.xkey;
    unset resp.http.Age;
    unset resp.http.Via;
    unset resp.http.X-Varnish;
    if (obj.hits > 0) {
        unset resp.http.X-Request-Id; # of the request that filled the cache
    }
}
