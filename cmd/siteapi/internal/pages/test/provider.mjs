// An OpenID Connect provider that signs in one person without a prompt.
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Starts a provider. Its person can be changed, and it records the prompts of the requests for a code. */
export async function startProvider() {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const person = { sub: "person-1", groups: ["desk"] };
  const prompts = [];
  const codes = new Map(); // requests by their code
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${server.address().port}`;

  const discovery = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    id_token_signing_alg_values_supported: ["RS256"],
  };
  const key = { ...publicKey.export({ format: "jwk" }), kid: "first", alg: "RS256", use: "sig" };

  /** Redirects the browser back with a code. */
  function authorize(query, response) {
    const code = randomUUID();
    codes.set(code, query);
    prompts.push(query.get("prompt") ?? "");
    const back = new URLSearchParams({ code, state: query.get("state") });
    response.writeHead(302, { Location: `${query.get("redirect_uri")}?${back}` }).end();
  }

  /** Redeems a code once if its verifier is valid. */
  function redeem(form) {
    const request = codes.get(form.get("code"));
    codes.delete(form.get("code"));
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (challenge !== request?.get("code_challenge")) return { error: "invalid_grant" };

    const iat = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, aud: request.get("client_id"), nonce: request.get("nonce"), iat, exp: iat + 300, ...person };
    const signed = `${encode({ alg: "RS256", kid: key.kid })}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(signed), privateKey).toString("base64url");
    return { access_token: "access", token_type: "Bearer", expires_in: 300, id_token: `${signed}.${signature}` };
  }

  server.on("request", async (request, response) => {
    const url = new URL(request.url, issuer);
    if (url.pathname === "/authorize") return authorize(url.searchParams, response);

    let body = discovery;
    if (url.pathname === "/keys") body = { keys: [key] };
    if (url.pathname === "/token") body = redeem(new URLSearchParams(await text(request)));
    response.writeHead(body.error ? 400 : 200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  });

  /** The settings of a service that uses the provider, for an address of the inbox. */
  const settings = (base) => ({
    ADMIN_PAGE: "on",
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: "siteapi",
    OIDC_CLIENT_SECRET: "client-secret",
    OIDC_REDIRECT_URL: `${base}/admin/callback`,
    OIDC_ROLES: "sales=desk,admin=team",
  });
  const stop = () => (server.closeAllConnections(), server.close());
  return { issuer, person, prompts, settings, stop };
}
