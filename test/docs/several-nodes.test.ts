// Long form: the same traffic with the commands of the page. Short form: test/nodes/traffic/other-nodes.test.ts
import assert from 'node:assert/strict';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { dirname, join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { missingBalancer, startHaproxy } from '../support/balancers.ts';
import { freePortsOn, ownAddresses } from '../support/cluster/own-addresses.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { LAUNCHER } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { projectRoot, readPage, shellBlocks } from './markdown.ts';
import { Terminal } from './terminal.ts';

const PAGE = 'docs/how-to/run-several-nodes.md';
const HOST = 'shop.localhost';
const NAMES = ['n1', 'n2', 'n3'] as const;
const DEADLINE_MS = 60_000;

const folder = await tempDir({ after });
const addresses = ownAddresses(NAMES.length);
const [edge = 0, http = 0, agents = 0, peers = 0, api = 0] = await freePortsOn(addresses[0] as string, 5);
const PORTS: Readonly<Record<string, number>> = { 443: edge, 80: http, 7444: agents, 7445: peers, 7080: api };
const postgres = await startPostgres();
after(() => postgres.stop());
const database = await freshDatabase(postgres);

/** The page's machines are loopback addresses here, with free ports. Its two database servers are the same one. */
function adapted(text: string): string {
  const { host, pathname } = new URL(database.url);
  return text
    .replaceAll(
      /10\.0\.0\.([123]):(\d+)/g,
      (_, at: string, port: string) => `${addresses[Number(at) - 1]}:${PORTS[port]}`,
    )
    .replace(/postgres:\/\/\S+/, `postgres://postgres@${host},${host}${pathname}`);
}

function fenced(language: string): string {
  const [, text = ''] =
    new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^\\1\`\`\`$`, 'm').exec(readPage(PAGE))?.slice(1) ?? [];
  return text;
}

/** A reader in a checkout types this first. */
const [, postern = ''] = /^In a checkout, first run `(.+?)`\./m.exec(readPage(PAGE)) ?? [];
const [makeKey = '', startServer = '', showHealth = '', useApi = '', upgrade = ''] = shellBlocks(PAGE).map(({ text }) =>
  adapted(text),
);
const terminals = new Map<string, Terminal>();
after(async () => {
  for (const terminal of terminals.values()) await terminal.close();
  await database.drop();
});

/** A machine of the reader: a checkout in a folder of its own. */
async function machine(name: string): Promise<string> {
  const home = join(folder, name);
  await mkdir(home);
  for (const link of ['src', 'tools', 'package.json', 'node_modules'])
    await symlink(join(projectRoot, link), join(home, link));
  await symlink(dirname(LAUNCHER), join(home, 'bin'));
  const settings = fenced('yaml')
    .replaceAll(/\bn1\b/g, name)
    .replaceAll('10.0.0.1', `10.0.0.${name.slice(1)}`);
  await writeFile(join(home, `${name}.yaml`), adapted(settings));
  return home;
}

function terminal(cwd: string): Terminal {
  return new Terminal({ cwd, env: { PATH: process.env['PATH'] ?? '', HOME: cwd } });
}

async function start(name: string): Promise<void> {
  const server = terminal(join(folder, name));
  terminals.set(name, server);
  await server.start(`${postern}\n${startServer.replace('n1.yaml', `${name}.yaml`)}`, /"msg":"ready"/);
}

suite(PAGE, () => {
  test('three nodes start, and each is ready', async () => {
    for (const name of NAMES) await machine(name);
    const first = terminal(join(folder, 'n1'));
    terminals.set('reader', first);
    await first.run(`${postern}\n${makeKey}`);
    const key = await readFile(join(folder, 'n1', 'postern.key'), 'utf8');
    for (const name of ['n2', 'n3']) await writeFile(join(folder, name, 'postern.key'), key);
    // The first creates the tables and the first API key.
    await start('n1');
    await Promise.all([start('n2'), start('n3')]);
    assert.equal((await first.run(showHealth)).match(/"status":"ready"/g)?.length, NAMES.length);
    // A command that fails ends the terminal.
    await first.run(useApi);
  });

  test('HAProxy sends visitors to all of them, and a restart fails no request', {
    skip: missingBalancer('haproxy'),
  }, async () => {
    const reader = terminals.get('reader') as Terminal;
    await reader.run(`BACKEND=$(postern api http-response-backends create --body ok --only id)
EDGE=$(postern api https-edges create --hostports ${HOST}:${edge} --only id)
postern api routes create --edge "$EDGE" --match-type path_prefix --match / --backend.backend-id "$BACKEND"`);
    const [https = ''] = /[\s\S]*?(?=listen http\n)/.exec(fenced('haproxy')) ?? [];
    const port = await startHaproxy(
      { after },
      adapted(https).replace('bind :443', 'bind 127.0.0.1:PORT').replace('check port 7080', `check port ${api}`),
    );
    await until(async () => (await visit(port).catch(() => 0)) === 200);
    await terminals.get('n1')?.close();
    for (let visits = 0; visits < 30; visits += 1) assert.equal(await visit(port), 200);
    await start('n1');
    for (let visits = 0; visits < 10; visits += 1) assert.equal(await visit(port), 200);
  });

  test('the commands of the upgrade end with a node that is ready', async () => {
    const reader = terminals.get('reader') as Terminal;
    // The service and its program are not installed here.
    await reader.run('sudo() { echo "$@" >> sudo.log; }');
    assert.match(await reader.run(upgrade), /"status":"ready"/);
    assert.match(await reader.run('cat sudo.log'), /install -m 755[\s\S]*systemctl restart postern/);
  });
});

function visit(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, servername: HOST, rejectUnauthorized: false, agent: false };
    const sent = request({ ...options, headers: { host: `${HOST}:${edge}` } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end();
  });
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await isTrue())) {
    assert.ok(Date.now() < deadline, 'it did not happen');
    await sleep(200);
  }
}
