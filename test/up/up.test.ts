// Own process: starts servers, which takes long.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { shellBlocks } from '../docs/markdown.ts';
import { missingBalancer, startNginx } from '../support/balancers.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { freePortsOn } from '../support/cluster/own-addresses.ts';
import { startPostern } from '../support/server-process.ts';
import { PUBLIC_ADDRESS, type UpResult, UpWorld } from './up-world.ts';

const HOST = 'app.example.com';
const HERE = { v4: [PUBLIC_ADDRESS], v6: [] };
/** The commands of the page, without sudo. */
const PAGE = shellBlocks('docs/how-to/publish-a-site.md').map(({ text }) => text.trim().split('\n'));
const [
  [publish = []] = [],
  [login = []] = [],
  [move = []] = [],
  [open = []] = [],
  ,
  inviting = [],
  joining = [],
  [remove = []] = [],
] = PAGE.map((lines) =>
  lines.map((line) =>
    line
      .replace(/^sudo /, '')
      .split(' ')
      .slice(2),
  ),
);
const OPERATORS = '# ours: do not lose this\nregion: eu   # Frankfurt\n';

suite('postern up in a terminal', () => {
  const tasks: (() => unknown)[] = [];
  const cleanup: Cleanup = { after: (task) => void tasks.unshift(task) };
  let world: UpWorld;

  before(async () => {
    world = await UpWorld.open(cleanup);
    world.records.set(HOST, HERE);
    writeFileSync(world.file, OPERATORS);
  });

  after(async () => {
    for (const task of tasks) await task();
  });

  test('names the program that holds a port, and changes nothing', { skip: missingBalancer('nginx') }, async (t) => {
    const port = await startNginx(t, 'http { access_log off; server { listen 127.0.0.1:PORT; } }');
    const args = [HOST, '--to', '3000', '--yes', ...world.place, '--edge-http-listen', `127.0.0.1:${port}`];
    const { code, err } = await world.up(args.filter((_, index) => !isFormer(args, index)));
    assert.equal(code, 1);
    assert.match(
      err,
      new RegExp(`nginx \\(process \\d+\\) already listens on 127\\.0\\.0\\.1:${port}\n +stop it, or set`),
    );
    assert.match(err, /nothing was changed/);
    assert.equal(world.text(), OPERATORS);
    assert.equal(world.servers.length, 0);
  });

  test('says on a terminal what it waits for while the server starts', async (t) => {
    const empty = await UpWorld.open(t);
    const { promise: ended, resolve } = Promise.withResolvers<number>();
    empty.onWarning = (line) => line.includes('waiting for the server') && resolve(1);
    const never = { ended, stop: () => {} };
    const args = ['app.localhost', '--to', String(empty.target), ...empty.place];
    const { code, err } = await empty.up(args, { isTerminal: true, ports: { serve: () => never } });
    assert.equal(code, 1, err);
    assert.match(err, new RegExp(`^postern: waiting for the server at http://${empty.api} to start$`, 'm'));
  });

  test('does not accept the terms of an ACME server for somebody who was not asked', async () => {
    const { code, err } = await world.up([HOST, '--to', '3000', ...world.place]);
    assert.equal(code, 1);
    assert.match(err, /acme-v02\.api\.letsencrypt\.org.*accept its terms.*add --yes.*Nothing was changed/);
    assert.equal(world.text(), OPERATORS);
  });

  test('rejects a port that nobody can use before it writes settings or starts a server', async () => {
    const { code, err } = await world.up([`${HOST}:9999`, '--to', '3000', '--yes', ...world.place]);
    assert.equal(code, 1);
    assert.match(
      err,
      /cannot use port 9999 .*: write app\.example\.com:\d+, add --edge-listen \[::\]:9999 .*Nothing was/,
    );
    assert.equal(world.text(), OPERATORS);
    assert.equal(world.servers.length, 0);
  });

  test('rejects names that cannot be hosts, and numbers that are no ports', async () => {
    assert.match((await world.up(['bad_host', '--to', '3000'])).err, /no certificate authority signs "bad_host"/);
    for (const target of ['99999', '127.0.0.1:99999', 'http://web:0'])
      assert.match((await world.up([HOST, '--to', target])).err, /is no port\. Ports go from 1 to 65535/);
  });

  test('names the DNS records that it needs, and asks about a host that DNS does not know', async () => {
    const args = ['mistyped.example.com', '--to', '3000', '--login', '--acme', 'off', ...world.place];
    const { code, out, err } = await world.up(args, { answer: 'n' });
    assert.equal(code, 1);
    assert.match(out, /^DNS records that this needs:$/m);
    assert.match(out, /^ {2}mistyped\.example\.com +none yet: A 93\.184\.215\.14$/m);
    assert.match(out, /^ {2}id\.mistyped\.example\.com +none yet: A 93\.184\.215\.14$/m);
    assert.deepEqual(world.questions.splice(0), [
      'DNS does not know mistyped.example.com, so nobody can visit it yet. Is the name right? [y/N] ',
    ]);
    assert.match(err, /nothing was changed/);
    assert.equal(world.servers.length, 0);
  });

  test('says whom a login lets in, and offers to invite the owner', async () => {
    const args = [HOST, '--to', '3000', '--login', ...world.place];
    const nobody = await world.up(args);
    assert.match(nobody.err, /the login lets in everybody with an account .*add --allow-email ana@example\.com/);
    const alone = await world.up([...args, '--email', 'you@example.com']);
    assert.match(alone.err, /add --allow-email you@example\.com/);
    // Nobody can listen there: nothing starts.
    const elsewhere = [...args, '--email', 'you@example.com', '--edge-listen', '192.0.2.1:1'];
    const once = elsewhere.filter((_, index) => !isFormer(elsewhere, index));
    const asked = await world.up(once, { answer: 'y' });
    assert.deepEqual(world.questions.splice(0), ['Invite you@example.com, and let in nobody else for now? [y/N] ']);
    assert.doesNotMatch(asked.err, /lets in everybody/);
    assert.equal(world.servers.length, 0);
  });

  test('starts a server from nothing and publishes the host; without ACME the internal CA serves, and the reason shows', async () => {
    world.records.set(HOST, { v4: ['203.0.113.9'], v6: ['2001:db8::9'] });
    const acme = ['--acme-directory', 'https://127.0.0.1:9/directory'];
    const args = [...at(publish, world), ...acme, ...world.place];
    const { code, out, err } = await started(world, args, 'y');
    assert.equal(code, 0, err);
    assert.match(world.questions.join(), /order public certificates from 127\.0\.0\.1:9\. Do you accept its terms/);
    assert.match(err, /resolves to 203\.0\.113\.9, which is no address of this machine: normal behind NAT/);
    assert.match(err, /AAAA record 2001:db8::9.*try IPv6 first: remove the record/);
    assert.match(out, /^ {2}\+ acme: "on"$/m);
    assert.match(out, /\+ backend 127\.0\.0\.1:\d+\n\+ edge app\.example\.com:\d+\n\+ route app\.example\.com\/\n/);
    assert.match(out, /^Address: +https:\/\/app\.example\.com:\d+\/$/m);
    assert.match(
      out,
      /^Certificate: +app\.example\.com: from the internal CA until the ACME server issues one: .*127\.0\.0\.1:9/m,
    );
    assert.equal((await world.visit(HOST)).text, 'hello');
    const text = world.text() ?? '';
    assert(text.startsWith(OPERATORS), text);
    assert.match(text, /\nacme_email: you@example\.com\n/);
    world.records.set(HOST, HERE);
  });

  test('run again it changes nothing, and starts nothing', async () => {
    const text = world.text();
    const { code, out, err } = await world.up([HOST, '--to', String(world.target)]);
    assert.equal(code, 0, err);
    assert.match(out, /^nothing to change$/m);
    assert.doesNotMatch(out, /^ *[+~-]/m);
    assert.equal(world.text(), text);
    assert.equal(world.servers.length, 1);
    const unusable = await world.up(['other.example.com:9999', '--to', '3000', '--region', 'us']);
    assert.equal(unusable.code, 1);
    assert.match(unusable.err, /cannot use port 9999/);
    assert.equal(world.text(), text);
  });

  test('adds an identity host and a login, and restarts the server by itself', async () => {
    const { code, out, err } = await world.up(login);
    assert.equal(code, 0, err);
    assert.match(err, /id\.app\.example\.com has no address in DNS: create an A record with 93\.184\.215\.14/);
    assert.match(err, /people will log in at id\.app\.example\.com.*--identity-host NAME/);
    assert.match(out, /^ {2}\+ identity_host: id\.app\.example\.com:\d+$/m);
    assert.match(
      out,
      /\+ login at https:\/\/id\.app\.example\.com:\d+\n\+ access for ana@example\.com, ben@example\.com\n/,
    );
    assert.match(
      out,
      /^Invite: +postern users add ana@example\.com ben@example\.com --api-url http:\S+ --api-key-file \S+first-api-key$/m,
    );
    const [route] = (await world.edgeOf(HOST)).routes;
    assert.deepEqual(route.access.allow, [{ emails: ['ana@example.com', 'ben@example.com'] }]);
    assert.notEqual((await world.visit(HOST)).status, 200);
    assert.equal((world.text() ?? '').startsWith(OPERATORS), true);
  });

  test('a flag that is left out leaves login and rules as they are', async () => {
    const before = (await world.edgeOf(HOST)).routes[0];
    const other = await world.up(move);
    assert.equal(other.code, 0, other.err);
    assert.match(other.out, /~ app\.example\.com\/ forwards to 127\.0\.0\.1:3001\n= login at .*\n= access rules/);
    assert.match(other.err, /nothing answers at 127\.0\.0\.1:3001 yet/);
    assert.match(other.out, /^Login: /m);
    assert.doesNotMatch(other.out, /^Invite: /m, 'nobody was named');
    const again = await world.up([HOST, '--login']);
    assert.equal(again.code, 0);
    assert.doesNotMatch(again.out, /^Invite: /m, 'the rules may not admit an invented person');
    const changed = (await world.edgeOf(HOST)).routes[0];
    assert.deepEqual([changed.oidc, changed.access], [before.oidc, before.access]);
    const { code, out } = await world.up([HOST, '--allow-groups', 'ops']);
    assert.equal(code, 0);
    assert.match(out, /^~ access for group ops$/m);
    const [route] = (await world.edgeOf(HOST)).routes;
    assert.deepEqual(route.access.allow, [
      { emails: ['ana@example.com', 'ben@example.com'], claims: { groups: ['ops'] } },
    ]);
  });

  test('does not change rules that flags cannot describe', async () => {
    const edge = await world.edgeOf(HOST);
    const path = `/edges/https/${edge.id}/routes/${edge.routes[0].id}/access`;
    const { access } = edge.routes[0];
    await world.call('PUT', path, { ...access, deny: [{ emails: ['eve@example.com'] }] });
    const { code, err } = await world.up([HOST, '--allow-groups', 'dev']);
    assert.equal(code, 1);
    assert.match(err, /has access rules already.*postern api access replace.*Nothing was published/);
    await world.call('PUT', path, access);
  });

  test('only --no-login removes login and rules, after a question', async () => {
    const { oidc, access } = (await world.edgeOf(HOST)).routes[0];
    for (const answer of [undefined, 'n', '']) {
      const refused = await world.up(open, answer === undefined ? {} : { answer });
      assert.equal(refused.code, 1);
      assert.match(refused.err, answer === undefined ? /no terminal.*add --yes/ : /nothing was changed/);
    }
    const [route] = (await world.edgeOf(HOST)).routes;
    assert.deepEqual([route.oidc, route.access], [oidc, access]);
    assert.match(world.questions.at(-1) ?? '', /Everybody can open https:\/\/app\.example\.com:\d+\/ afterwards/);
    const { code, out } = await world.up([HOST, '--no-login', '--to', String(world.target)], { answer: 'y' });
    assert.equal(code, 0);
    assert.match(out, /^- login \(oidc\)\n- access rules \(access\)$/m);
    assert.equal((await world.visit(HOST)).text, 'hello');
  });

  test('says what protects a site without a login, beside --no-login', async () => {
    const host = 'guarded.example.com';
    const to = ['--to', String(world.target)];
    await world.up([host, ...to, '--login', '--allow-email', 'ana@example.com', '--yes']);
    const file = join(world.folder, 'site-password');
    writeFileSync(file, 'correct horse battery');
    const guarded = await world.up([host, '--no-login', '--password-file', file], { answer: 'y' });
    assert.equal(guarded.code, 0, guarded.err);
    assert.match(world.questions.at(-1) ?? '', /^No login protects https:\S+ afterwards, only a password\. Go on\?/);
    assert.match(guarded.out, /^no login, open to visitors with a password$/m);
    const again = await world.up([host, '--no-login']);
    assert.match(again.out, /^no login, open to visitors with a password$/m);
    assert.equal((await world.down([host])).code, 0);
  });

  test('does not open a host that a wildcard protects', async () => {
    const { id } = await world.call('POST', '/edges/https', { hostports: ['*.closed.example.com:443'] });
    const access = { allow: [{ emails: ['ana@example.com'] }] };
    await world.call('POST', `/edges/https/${id}/routes`, { match_type: 'path_prefix', match: '/', access });
    const { code, err } = await world.up(['app.closed.example.com', '--to', '3000']);
    assert.equal(code, 1);
    assert.match(
      err,
      /\*\.closed\.example\.com:443 serves app\.closed\.example\.com with a login.*--no-login to open it/,
    );
    assert.equal(await world.edgeOf('app.closed.example.com'), undefined);
  });

  test('does not open a host that a wildcard protects with a password', async () => {
    const { id } = await world.call('POST', '/edges/https', { hostports: ['*.secret.example.com:443'] });
    const basic_auth = { users: [{ username: 'ana', password: 'hunter2hunter2' }] };
    await world.call('POST', `/edges/https/${id}/routes`, { match_type: 'path_prefix', match: '/', basic_auth });
    const { code, err } = await world.up(['app.secret.example.com', '--to', '3000']);
    assert.equal(code, 1);
    assert.match(err, /\*\.secret\.example\.com:443 serves app\.secret\.example\.com with a login or other rules/);
    assert.equal(await world.edgeOf('app.secret.example.com'), undefined);
  });

  test('a service on another machine is published by an agent that joins with an invitation', async (t) => {
    const [listen = [], reserve = [], invite = []] = inviting;
    const { hostname } = new URL(`http://${world.api}`);
    const [port] = await freePortsOn(hostname, 1);
    const gateway = `${hostname}:${port}`;
    const changed = await world.up(listen.map((word) => (word === '0.0.0.0:7444' ? gateway : word)));
    assert.equal(changed.code, 0, changed.err);
    assert.match(changed.out, /^ {2}[+~] tunnel_names: .*gateway\.example\.com/m);

    const key = readFileSync(join(world.dataDir, 'first-api-key'), 'utf8').trim();
    const access = { POSTERN_CLI_API_URL: `http://${world.api}`, POSTERN_CLI_API_KEY: key };
    const type = (args: readonly string[], env: Record<string, string>) =>
      startPostern(t, { args, cwd: world.folder, env: { ...env, HOME: world.folder } });
    const reserved = type(['api', ...reserve], access);
    assert.equal((await reserved.exited).code, 0, reserved.stderr());
    // DNS leads the other machine to the gateway; here its address does.
    const invited = type(['agents', ...invite, '--gateway', gateway], access);
    assert.equal((await invited.exited).code, 0, invited.stderr());
    const joined = type(invited.stdout().trim().split(' ').slice(1), {});
    assert.equal((await joined.exited).code, 0, joined.stderr());
    const [serve = []] = joining;
    const agent = type(['http', String(world.target), ...serve.slice(1)], {});
    const visit = () => world.visit('wiki.example.com').catch(() => null);
    const isOnline = async (): Promise<boolean> => (await visit())?.text === 'hello';
    while (!(await isOnline()) && agent.child.exitCode === null) await sleep(100);
    assert.equal(agent.child.exitCode, null, agent.stderr());
  });

  test('guards a site with a password and addresses, and gives an application the Host header that it accepts', async (t) => {
    const seen: string[] = [];
    // As Jupyter and Django: a name that it does not know gets 403.
    const application = createServer(({ headers }, response) => {
      seen.push(headers.host ?? '');
      response.writeHead(headers.host === 'localhost' ? 200 : 403).end();
    });
    await once(application.listen(0, '127.0.0.1'), 'listening');
    t.after(() => application.close());
    const { port } = application.address() as AddressInfo;
    const site = 'notebook.example.com';
    world.records.set(site, HERE);
    const plain = await world.up([site, '--to', String(port)]);
    assert.equal(plain.code, 0, plain.err);
    assert.equal((await world.visit(site)).status, 403);

    const file = join(world.folder, 'password');
    writeFileSync(file, 'hunter2hunter2\n');
    const flags = ['--password-file', file, '--host-header', 'localhost', '--only'];
    const { code, out, err } = await world.up([site, ...flags, '192.0.2.0/24']);
    assert.equal(code, 0, err);
    assert.match(out, /^\+ password of visitor\n\+ access from 192\.0\.2\.0\/24\n\+ Host header localhost$/m);
    assert.doesNotMatch(out + err, /hunter2/);
    assert.equal((await world.visit(site)).status, 403, 'this address is not among them');
    assert.deepEqual(seen.splice(0), [`${site}`]);
    const moved = await world.up([site, '--only', '127.0.0.1']);
    assert.equal(moved.code, 0, moved.err);
    assert.match(moved.out, /^~ access from 127\.0\.0\.1\/32$/m);
    assert.equal((await world.visit(site)).status, 401);
    const authorization = `Basic ${Buffer.from('visitor:hunter2hunter2').toString('base64')}`;
    assert.equal((await world.visit(site, { authorization })).status, 200);
    assert.deepEqual(seen, ['localhost']);
    const { ip_policies: policies } = await world.call('GET', '/ip_policies');
    assert.equal(policies.length, 1);

    const removed = await world.down([site]);
    assert.equal(removed.code, 0, removed.err);
    assert.match(removed.out, /^- address rules of notebook\.example\.com$/m);
    assert.deepEqual((await world.call('GET', '/ip_policies')).ip_policies, []);
  });

  test('down removes what up made, and nothing else', async () => {
    const target = String(world.target);
    for (const host of ['one.example.com', 'two.example.com']) {
      const { code, err } = await world.up([host, '--to', target]);
      assert.equal(code, 0, err);
    }
    const byHand = await world.call('POST', '/edges/https', { hostports: ['hand.example.com:443'] });
    const missing = await world.down(['hand.example.com']);
    assert.equal(missing.code, 1);
    assert.match(
      missing.err,
      /postern up has not published hand\.example\.com on the server at http:\/\/127[\d.]+:\d+\. Somebody else made its edge/,
    );

    const first = await world.down(['one.example.com']);
    assert.equal(first.code, 0, first.err);
    assert.match(first.out, /^- edge one\.example\.com:\d+$/m);
    assert.equal(await world.edgeOf('one.example.com'), undefined);
    // People know an address, and "postern undo" needs a revision.
    assert.match(first.out, new RegExp(`^= backend 127\\.0\\.0\\.1:${target} is used elsewhere, and stays$`, 'm'));
    const [, revision] = /"postern undo (\d+)" takes this back$/m.exec(first.out) ?? [];
    const { message } = await world.call('GET', `/changes/${revision}`);
    assert.equal(message, 'postern down one.example.com');

    const two = await world.edgeOf('two.example.com');
    const added = { match_type: 'path_prefix', match: '/mine' };
    await world.call('POST', `/edges/https/${two.id}/routes`, added);
    const second = await world.down(['two.example.com']);
    assert.match(second.out, /^- route two\.example\.com\/\n/);
    assert.match(second.out, /^= edge two\.example\.com:\d+ stays/m);
    assert.deepEqual(
      (await world.edgeOf('two.example.com')).routes.map(({ match }: { match: string }) => match),
      ['/mine'],
    );
    assert.equal((await world.edgeOf('hand.example.com')).id, byHand.id);

    const last = await world.down(remove);
    assert.equal(last.code, 0, last.err);
    assert.equal(await world.edgeOf(HOST), undefined);
    const { backends } = await world.call('GET', '/backends/static');
    assert.deepEqual(backends, [], 'backends of postern up are left');
  });

  test('the command of the README publishes a host behind a login', async () => {
    const words = shellBlocks('README.md').flatMap(({ text }) => / postern up (.*)/.exec(text)?.[1]?.split(' ') ?? []);
    const { code, out, err } = await world.up([...at(words, world), '--yes']);
    assert.equal(code, 0, err);
    assert.match(out, /^\+ login at https:\/\/id\./m);
    assert.equal((await world.visit(HOST)).status, 401);
  });
});

/** A first `postern up`, until it waits for its server. */
function started(world: UpWorld, args: readonly string[], answer: string): Promise<UpResult> {
  return new Promise((resolve) => {
    world.onWaiting = resolve;
    void world.up(args, { answer }).then(resolve);
  });
}

/** With the port of the world's service. */
function at(args: readonly string[], world: UpWorld): readonly string[] {
  return args.map((word) => (word === '3000' ? String(world.target) : word));
}

/** An earlier value of a flag that is given twice. */
function isFormer(args: readonly string[], index: number): boolean {
  const flag = args[index]?.startsWith('--') ? index : index - 1;
  const name = args[flag];
  return name?.startsWith('--') === true && args.lastIndexOf(name) > flag;
}
