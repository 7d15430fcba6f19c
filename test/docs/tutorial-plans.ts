import assert from 'node:assert/strict';
import type { ShellBlock } from './markdown.ts';
import type { PageRun, Treatment } from './reader.ts';

const RUNNING = 'the server of the test runs already, on free ports; test/install/first-screen.test.ts runs npm start';
const start: Treatment = {
  custom: async ({ text }) => {
    assert.equal(text, 'npm start\n');
  },
};
const quiet = /^/;

/** Pages that a newcomer follows one after another, in this order, on one server. */
export const tutorialPlans: Readonly<Record<string, readonly Treatment[]>> = {
  'README.md': [
    start,
    { skip: 'the command that runs this test' },
    { custom: onServer },
    { service: '3000' },
    { run: /^\+ edge hello\.localhost:7443$/m },
    { run: /^Hello from port \d+$/m },
    { run: /enabled[\s\S]*Edges +1, with 1 route\n +hello\.localhost:7443/ },
    { custom: askApi },
  ],
  'docs/tutorials/1-first-edge.md': [
    start,
    { service: '3001' },
    { run: quiet },
    { run: /You asked for \/hello/ },
    { run: /All is well\./ },
    { run: /enabled[\s\S]*^content-encoding: gzip$/m },
    { run: /shop\.localhost:7443[\s\S]*"https_edges":\[[\s\S]*"compression":\{/ },
    { run: /^\S.* 200 +GET +shop\.localhost\/long/m },
    // The page's doctor uses the server's default ports; here they differ.
    { custom: runDoctor },
    { run: quiet },
  ],
  'docs/tutorials/2-first-tunnel.md': [
    start,
    { service: '3002' },
    { background: /https:\/\/[a-z0-9-]+\.localhost:\d+/ },
    { run: /Hello through the tunnel/ },
    { run: quiet },
    { background: /online|app=team/, replacesPrevious: true },
    { custom: reachTunnelGroup },
    { run: quiet },
  ],
  'docs/tutorials/3-first-login.md': [
    { custom: startProvider },
    { skip: RUNNING },
    { run: quiet },
    { run: /^Only for logged-in users\.$/m },
    { run: /issuer/ },
    { run: /"error_code":"ERR_POSTERN_LOGIN_REQUIRED","status_code":401/ },
    { custom: listUsers },
    { run: quiet },
  ],
};

/** test/install/binary.test.ts runs the first line, test/up/up.test.ts the last. */
async function onServer({ text }: ShellBlock): Promise<void> {
  const [build, copy, up, ...rest] = text.trimEnd().split('\n');
  assert.equal(build, 'npm run build:binary');
  assert.match(copy ?? '', /^scp dist\/postern-linux-x64 /);
  assert.match(up ?? '', /^ssh -t \S+ postern up /);
  assert.deepEqual(rest, []);
}

/** The page's server has the default port. */
async function askApi({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const output = await terminal.run(text.replace('http://127.0.0.1:7080', reader.ready.base_url));
  assert.match(output, /"https_edges":\[\{/);
}

async function runDoctor({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const { api, edge, edge_http, tunnel } = reader.ready.addresses as unknown as Record<string, string>;
  const flags = `--api-listen ${api} --edge-listen ${edge} --edge-http-listen ${edge_http} --tunnel-listen ${tunnel}`;
  assert.match(await terminal.run(`${text.trim()} ${flags}`), /no problems|0 problems/);
}

/** The agent is online a moment after it reports that. */
async function reachTunnelGroup({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  assert.match(await terminal.run(text), /Hello through the tunnel/);
}

async function startProvider({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const [provider] = text.split('\n');
  await terminal.run(`${provider} --port ${reader.port('7090')} > dev-idp.log &`);
  await terminal.run('until grep -q issuer dev-idp.log; do sleep 0.1; done');
}

/** The browser's first step: the redirect to the provider must exist, with the redirect URI that dev-idp knows. */
async function listUsers({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  await terminal.run(text);
  const redirect = await terminal.run(
    `curl -s -o /dev/null -w '%{redirect_url}\\n' --cacert login-ca.pem 'https://club.localhost:7443/.postern/login?to=/&go=1'`,
  );
  const authorization = new URL(redirect.trim());
  assert.equal(authorization.port, reader.port('7090'));
  const atProvider = await fetch(authorization, { redirect: 'manual' });
  assert.match(atProvider.headers.get('location') ?? '', /\/interaction\//);
}
