import { parseArgs } from 'node:util';
import { createIdentityProvider, type RunningIdentityProvider } from './dev-idp/create-identity-provider.ts';
import { TEST_USERS } from './dev-idp/test-users.ts';

/** `npm run dev-idp`: an OpenID provider for trying logins without an account anywhere. */
const DEFAULT_PORT = 7090;
const DEFAULT_REDIRECT_URI = 'https://app.localhost:7443/.postern/callback';
// Public, and usable on this machine only: the walk-through can be typed as written, even after a restart.
const CLIENT_ID = 'postern';
const CLIENT_SECRET = 'postern-dev-secret';

const HELP = `Usage: npm run dev-idp -- [FLAGS]

Starts an OpenID provider on 127.0.0.1 for testing logins: two test users, no passwords, everything in memory.

  --port NUMBER       port to listen on, also part of the issuer URL (default ${DEFAULT_PORT}; 0: any free port)
  --redirect-uri URL  redirect URI to accept, repeatable (default ${DEFAULT_REDIRECT_URI});
                      use the host of your edge, the path is always /.postern/callback
  --help              print this text

Press Ctrl-C to stop it.`;

await main();

async function main(): Promise<void> {
  const flags = readFlags();
  if (flags === null) return;
  const provider = await createIdentityProvider({
    port: flags.port,
    // Most apps at real providers get refresh tokens by a setting there, not by asking for consent each time.
    refreshTokens: 'always',
    clients: [clientFor(flags.redirectUris)],
    onProblem: (problem) => console.error(`dev-idp: ${problem}`),
  }).catch((error: NodeJS.ErrnoException) => {
    const isTaken = error.code === 'EADDRINUSE';
    return stop(isTaken ? `port ${flags.port} is in use: choose another with --port` : String(error));
  });
  console.log(greeting(provider, flags.redirectUris));
  const end = (): void => {
    provider.stop().catch((error: unknown) => stop(String(error)));
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
}

function readFlags(): { port: number; redirectUris: readonly string[] } | null {
  const values = parse();
  if (values.help === true) {
    console.log(HELP);
    return null;
  }
  const port = Number(values.port ?? DEFAULT_PORT);
  if (!/^\d+$/.test(values.port ?? '0') || port > 65_535)
    return stop(`--port must be 0 to 65535, not "${values.port}"`);
  const redirectUris = values['redirect-uri'] ?? [DEFAULT_REDIRECT_URI];
  for (const uri of redirectUris) {
    if (!URL.canParse(uri) || !/^https?:$/.test(new URL(uri).protocol))
      return stop(`--redirect-uri must be an absolute URL such as ${DEFAULT_REDIRECT_URI}, not "${uri}"`);
  }
  return { port, redirectUris };
}

function parse() {
  try {
    return parseArgs({
      options: {
        port: { type: 'string' },
        'redirect-uri': { type: 'string', multiple: true },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    return stop((error as Error).message);
  }
}

function clientFor(redirectUris: readonly string[]) {
  const [first = DEFAULT_REDIRECT_URI] = redirectUris;
  return {
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    redirect_uris: [...redirectUris],
    post_logout_redirect_uris: redirectUris.map((uri) => new URL('/.postern/logout/done', uri).href),
    // A client has one address for this, however many hosts it serves.
    backchannel_logout_uri: new URL('/.postern/backchannel-logout', first).href,
  };
}

function greeting(provider: RunningIdentityProvider, redirectUris: readonly string[]): string {
  const users = TEST_USERS.map(({ claims }) => `${String(claims['name'])} <${String(claims['email'])}>`);
  return `An OpenID provider for testing logins on this machine. Press Ctrl-C to stop it.

  issuer         ${provider.issuer}
  client id      ${CLIENT_ID}
  client secret  ${CLIENT_SECRET}
  redirect URI   ${redirectUris.join('\n                 ')}
  users          ${users.join('\n                 ')}

To require a login at this provider, with the ids of your edge and route:

  postern() { node bin/postern.mjs "$@"; }
  postern api oidc replace --edge "$EDGE" --route "$ROUTE" --issuer ${provider.issuer} \\
    --client-id ${CLIENT_ID} --client-secret ${CLIENT_SECRET} --scopes openid,email,profile

docs/tutorials/3-first-login.md explains every step.`;
}

function stop(message: string): never {
  console.error(`dev-idp: ${message}`);
  process.exit(2);
}
