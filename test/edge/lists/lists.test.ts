import assert from 'node:assert/strict';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { until } from '../../support/cluster.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { ListWorld } from './list-world.ts';

const world = await ListWorld.open({ after });

suite('a list in a file', () => {
  test('denies its addresses from the answer to the write on, and no others', async () => {
    world.write('denied.txt', '# who\n203.0.113.0/24\n2001:db8::/32\n');
    const { host, policyId } = await world.site();
    assert.equal(await world.from('203.0.113.7', host), 200);
    const list = await world.list(policyId, { file: 'denied.txt', description: 'bad ones' });
    assert.deepEqual([list.status, list.entries, list.error], ['current', 2, null]);
    assert.equal(await world.from('203.0.113.7', host), 403);
    assert.equal(await world.from('::ffff:203.0.113.7', host), 403);
    assert.equal(await world.from('2001:db8::1', host), 403);
    assert.equal(await world.from('203.0.114.7', host), 200);
    await world.edge.api('DELETE', `/ip_policy_lists/${list.id}`);
    assert.equal(await world.from('203.0.113.7', host), 200);
  });

  test('allows its addresses, unless something denies them', async () => {
    world.write('allowed.txt', '198.51.100.0/24');
    world.write('not-these.txt', '198.51.100.7');
    const { host, policyId } = await world.site([]);
    await world.list(policyId, { file: 'allowed.txt', action: 'allow' });
    assert.equal(await world.from('198.51.100.7', host), 200);
    assert.equal(await world.from('192.0.2.1', host), 403);
    await world.list(policyId, { file: 'not-these.txt' });
    assert.equal(await world.from('198.51.100.7', host), 403);
    assert.equal(await world.from('198.51.100.8', host), 200);
  });

  test('is one of at most 50 of a policy: a request asks all of them', async () => {
    world.write('one-of-many.txt', '203.0.113.0/24');
    const { policyId } = await world.site();
    const body = { ip_policy_id: policyId, file: 'one-of-many.txt' };
    const add = () => world.edge.world.api('POST', '/ip_policy_lists', body);
    const first = await add();
    for (let at = 1; at < 50; at += 1) assert.equal((await add()).status, 201);
    const refused = await add();
    assert.deepEqual([refused.status, refused.body.error_code], [400, 'ERR_POSTERN_INVALID_BODY']);
    assert.match(refused.body.msg, /ip_policy_id.* names a policy that has 50 lists.*use another policy/);
    await world.edge.api('DELETE', `/ip_policy_lists/${first.body.id}`);
    assert.equal((await add()).status, 201);
  });

  test('is explained with the list and its entry', async () => {
    world.write('explained.txt', '203.0.113.0/24\n');
    const { host, policyId } = await world.site();
    const { id } = await world.list(policyId, { file: 'explained.txt', description: 'bad ones' });
    const { decision, rule } = await world.explain('203.0.113.9', host);
    assert.deepEqual([decision, rule], ['refuse', `deny 203.0.113.0/24 of the list ${id} (bad ones)`]);
    assert.equal((await world.explain('203.0.114.9', host)).decision, 'pass');
  });

  test('rejects all requests while it was never loaded, and says why', async () => {
    const { host, policyId, routeId } = await world.site();
    const { id, status, error } = await world.list(policyId, { file: 'absent.txt' });
    assert.equal(status, 'missing');
    assert.match(String(error), /cannot be read.*ENOENT/);
    const answer = await world.edge.ask(host);
    assert.deepEqual([answer.status, answer.headers['postern-error-code']], [503, 'ERR_POSTERN_MODULE_UNAVAILABLE']);
    assert.match((await world.explain('192.0.2.1', host)).text, /has no addresses yet/);
    const { problems } = await world.edge.api('GET', '/problems');
    const about = (wanted: string) => problems.filter(({ message }: { message: string }) => message.includes(wanted));
    assert.ok(about(routeId).length + about('has no addresses yet').length > 0, JSON.stringify(problems));
    assert.ok(about(`IP policy list ${id}`).length > 0, JSON.stringify(problems));
    world.write('absent.txt', '192.0.2.1');
    assert.equal((await world.refresh(id)).status, 'current');
    assert.equal(await world.from('192.0.2.1', host), 403);
    assert.equal(await world.from('192.0.2.2', host), 200);
  });

  test('is read again when it changes, and cuts the streams that it now denies', async (t) => {
    const upstream = await recordingUpstream(t);
    upstream.answer = (_request, response) => void response.writeHead(200).write('first');
    world.write('changing.txt', '203.0.113.1');
    const { host, policyId, routePath } = await world.site();
    await world.edge.api('PUT', `${routePath}/backend`, {
      backend_id: await world.edge.staticBackend(upstream.address),
    });
    const { id } = await world.list(policyId, { file: 'changing.txt' });
    const [kept, cut] = await Promise.all(['203.0.113.3', '203.0.113.2'].map((address) => world.open(host, address)));
    world.write('changing.txt', '203.0.113.2\n203.0.113.1');
    await world.refresh(id);
    assert.equal(await cut?.ended, 'cut');
    assert.equal(kept?.isOpen, true);
    kept?.destroy();
  });

  test('keeps the former entries when it is empty, another format, or less than half', async () => {
    const lines = Array.from({ length: 10 }, (_, at) => `203.0.113.${at}`);
    world.write('shrinking.txt', lines.join('\n'));
    const { host, policyId } = await world.site();
    const { id } = await world.list(policyId, { file: 'shrinking.txt' });
    for (const [content, why] of [
      ['', /is empty/],
      ['<html>203.0.113.9</html>', /is not a plain list/],
      [lines.slice(0, 4).join('\n'), /less than half of the 10 before/],
    ] as const) {
      world.write('shrinking.txt', content);
      const { status, entries, error } = await world.refresh(id);
      assert.deepEqual([status, entries], ['stale', 10]);
      assert.match(String(error), why);
      assert.equal(await world.from('203.0.113.9', host), 403);
    }
    const { problems } = await world.edge.api('GET', '/problems');
    assert.ok(problems.some(({ message }: { message: string }) => message.includes(id)));
    assert.deepEqual((await world.refresh(id, { accept_smaller: true })).entries, 4);
    assert.equal(await world.from('203.0.113.9', host), 200);
  });

  test('is refused outside of lists_dir, also over a symbolic link', async () => {
    const { policyId } = await world.site();
    for (const file of ['../x', '/etc/passwd', 'a/../../x', './x', 'a//b', 'a\\b']) {
      await assert.rejects(() => world.list(policyId, { file }), /400.*lists_dir/s, file);
    }
    const outside = join(world.dir, '..', 'outside.txt');
    writeFileSync(outside, '192.0.2.77 secret');
    symlinkSync(outside, join(world.dir, 'link.txt'));
    symlinkSync(join(world.dir, '..'), join(world.dir, 'up'));
    for (const file of ['link.txt', 'up/outside.txt']) {
      const { status, error } = await world.list(policyId, { file });
      assert.equal(status, 'missing');
      assert.match(String(error), /not a file below the directory in the setting lists_dir/);
    }
    // A key must not learn what is on the disk by links of the operator.
    symlinkSync(join(world.dir, '..', 'absent.txt'), join(world.dir, 'to-nothing.txt'));
    const said = new Set<string>();
    for (const file of ['up/outside.txt', 'up/absent.txt', 'up/absent/x', 'up/outside.txt/x', 'up', 'to-nothing.txt'])
      said.add(String((await world.list(policyId, { file })).error));
    assert.equal(said.size, 1, [...said].join('\n'));
    assert.match(String((await world.list(policyId, { file: 'not-there.txt' })).error), /cannot be read: .*ENOENT/);
    world.write('inside.txt', '192.0.2.77');
    symlinkSync(join(world.dir, 'inside.txt'), join(world.dir, 'good-link.txt'));
    assert.equal((await world.list(policyId, { file: 'good-link.txt' })).status, 'current');
  });

  test('is refused if it is no regular file', async () => {
    const { policyId } = await world.site();
    symlinkSync('/dev/zero', join(world.dir, 'zero'));
    const { error } = await world.list(policyId, { file: 'zero' });
    assert.match(String(error), /not a file below/);
    world.write('folder/one.txt', '192.0.2.1');
    assert.match(String((await world.list(policyId, { file: 'folder' })).error), /not a regular file/);
    rmSync(join(world.dir, 'zero'));
  });
});

suite('a rehearsed list', () => {
  test('refuses nobody, and says whom it would refuse', async () => {
    world.write('rehearsed.txt', '203.0.113.0/24');
    const { host, policyId } = await world.site();
    const { id } = await world.list(policyId, { file: 'rehearsed.txt', enforce: false });
    assert.equal(await world.from('203.0.113.7', host), 200);
    const explained = await world.explain('203.0.113.7', host);
    assert.deepEqual([explained.decision, explained.reason], ['pass', 'would_refuse']);
    assert.equal(explained.rule, `deny 203.0.113.0/24 of the list ${id}`);
    await world.edge.api('PATCH', `/ip_policy_lists/${id}`, { enforce: true });
    assert.equal(await world.from('203.0.113.7', host), 403);
  });

  test('admits nobody either, and refuses nobody while it is not loaded', async () => {
    world.write('rehearsed-allow.txt', '203.0.113.0/24');
    const { host, policyId } = await world.site(['192.0.2.0/24']);
    await world.list(policyId, { file: 'rehearsed-allow.txt', action: 'allow', enforce: false });
    await world.list(policyId, { file: 'nowhere.txt', enforce: false });
    assert.equal(await world.from('203.0.113.7', host), 403);
    assert.equal(await world.from('192.0.2.7', host), 200);
  });
});

suite('a list of countries', () => {
  test('rejects all requests without a database, then decides by it', async () => {
    const { host, policyId } = await world.site();
    const { id, error } = await world.list(policyId, { countries: ['de', 'FR', 'de'] });
    assert.match(String(error), /the country database cannot be read/);
    assert.equal(await world.from('192.0.2.1', host), 503);
    world.writeCountries([
      ['192.0.2.0/24', 'DE'],
      ['198.51.100.0/24', 'US'],
      ['203.0.113.0/24', null],
      ['2001:db8::/32', 'FR'],
    ]);
    assert.equal((await world.refresh(id)).status, 'current');
    assert.equal(await world.from('192.0.2.1', host), 403);
    assert.equal(await world.from('2001:db8::1', host), 403);
    assert.equal(await world.from('198.51.100.1', host), 200);
    assert.equal(await world.from('203.0.113.1', host), 200);
    assert.equal((await world.explain('192.0.2.1', host)).rule, `deny DE (192.0.2.0/24) of the list ${id}`);
    await world.edge.api('PATCH', `/ip_policy_lists/${id}`, { countries: ['US'] });
    assert.equal(await world.from('192.0.2.1', host), 200);
    assert.equal(await world.from('198.51.100.1', host), 403);
  });

  test('keeps the database in use when the file is replaced by a broken one', async () => {
    world.writeCountries([['192.0.2.0/24', 'DE']]);
    const { host, policyId } = await world.site();
    const { id } = await world.list(policyId, { countries: ['DE'] });
    await world.refresh(id);
    world.writeCountries(Buffer.from('not a database'));
    const { status, error } = await world.refresh(id);
    assert.equal(status, 'stale');
    assert.match(String(error), /is not an MMDB file, or is damaged/);
    assert.equal(await world.from('192.0.2.1', host), 403);
  });

  test('has codes that exist', async () => {
    const { policyId } = await world.site();
    for (const countries of [['UK'], ['XX'], ['Germany'], ['']]) {
      await assert.rejects(() => world.list(policyId, { countries }), /400.*ISO 3166-1/s);
    }
  });
});

suite('a list at a URL', () => {
  test('is fetched with its secret headers, and asked for again by its validators', async () => {
    const { host, policyId } = await world.site();
    world.asked = [];
    world.publish = (request, response) => {
      if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end();
      else response.writeHead(200, { etag: '"one"' }).end('203.0.113.5\n');
    };
    const { id } = await world.list(policyId, { url: world.url(), headers: { 'x-key': 'hidden-value' } });
    assert.ok(!JSON.stringify(await world.read(id)).includes('hidden-value'));
    await until('the list is fetched', async () => (await world.read(id)).status === 'current');
    assert.equal(await world.from('203.0.113.5', host), 403);
    assert.equal(await world.from('203.0.113.6', host), 200);
    await world.edge.api('PATCH', `/ip_policy_lists/${id}`, { enforce: true });
    assert.equal((await world.refresh(id)).status, 'current');
    assert.deepEqual([...new Set(world.asked.map((request) => request.headers['x-key']))], ['hidden-value']);
    assert.deepEqual(
      world.asked.slice(0, 2).map((request) => request.headers['if-none-match']),
      [undefined, '"one"'],
    );
    await assert.rejects(
      () => world.edge.api('PATCH', `/ip_policy_lists/${id}`, { url: 'https://elsewhere.example.com/' }),
      /must be sent again/,
    );
    const elsewhere = { url: world.url('/elsewhere'), headers: { 'x-key': 'hidden-value' } };
    await world.edge.api('PATCH', `/ip_policy_lists/${id}`, elsewhere);
    assert.ok(!world.edge.world.logLines.join('').includes('hidden-value'));
  });

  test('rejects all requests until it was fetched once, and keeps the former one afterwards', async () => {
    const { host, policyId } = await world.site();
    world.publish = (_request, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    const { id } = await world.list(policyId, { url: world.url('/first.txt') });
    await until('the redirect is reported', async () => (await world.read(id)).error?.includes('redirect') === true);
    assert.equal(await world.from('203.0.113.5', host), 503);
    world.publish = (_request, response) => response.end('203.0.113.5');
    assert.equal((await world.refresh(id)).status, 'current');
    assert.equal(await world.from('203.0.113.5', host), 403);
    for (const [publish, why] of [
      [(_: unknown, response: { writeHead(status: number): { end(): void } }) => response.writeHead(500).end(), /500/],
      [(_: unknown, response: { destroy(): void }) => response.destroy(), /could not be fetched/],
    ] as const) {
      world.publish = publish as never;
      const { status, error } = await world.refresh(id);
      assert.equal(status, 'stale');
      assert.match(String(error), why);
      assert.equal(await world.from('203.0.113.5', host), 403);
    }
    assert.match(await world.edge.metrics(), new RegExp(`postern_ip_policy_list_failures_total\\{list="${id}"\\} 3`));
    assert.match(await world.edge.metrics(), new RegExp(`postern_ip_policy_list_entries\\{list="${id}"\\} 1`));
    assert.match(
      await world.edge.metrics(),
      new RegExp(`postern_ip_policy_list_last_read_timestamp_seconds\\{list="${id}"\\} 1\\d{9}`),
    );
  });

  test('is refused at addresses of metadata services, and compressed', async () => {
    const { policyId } = await world.site();
    const metadata = await world.list(policyId, { url: 'https://169.254.169.254/latest' });
    await until(
      'refused',
      async () => (await world.read(metadata.id)).error?.includes('could not be fetched') === true,
    );
    world.publish = (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('\u001f\u008b');
    const packed = await world.list(policyId, { url: world.url('/packed') });
    await until('refused', async () => (await world.read(packed.id)).error?.includes('compressed') === true);
  });

  test('has a changed URL only when it was fetched from there', async () => {
    const { host, policyId } = await world.site();
    world.publish = (request, response) => {
      if (request.url === '/old') response.end('203.0.113.5');
      else response.writeHead(404).end();
    };
    const { id } = await world.list(policyId, { url: world.url('/old') });
    await until('the list is fetched', async () => (await world.read(id)).status === 'current');
    await world.edge.api('PATCH', `/ip_policy_lists/${id}`, { url: world.url('/new') });
    assert.equal(await world.from('203.0.113.5', host), 503);
    await until('the failure is reported', async () => (await world.read(id)).error?.includes('404') === true);
    await world.edge.api('PATCH', `/ip_policy_lists/${id}`, { url: world.url('/old') });
    await until('it is fetched again', async () => (await world.from('203.0.113.5', host)) === 403);
  });
});

suite('the fields of a list', () => {
  test('have one source', async () => {
    const { policyId } = await world.site();
    const both = { url: 'https://example.com/', file: 'x.txt' };
    for (const fields of [{}, both, { file: 'x.txt', countries: ['DE'] }, { ...both, countries: ['DE'] }]) {
      await assert.rejects(() => world.list(policyId, fields), /400.*only source/s);
    }
  });

  test('accept only https for other machines, and no names and passwords', async () => {
    const { policyId } = await world.site();
    for (const url of [
      'http://example.com/',
      'ftp://example.com/',
      'https://a:b@example.com/',
      'x',
      'https://e/#x',
      'https://e:0/',
    ])
      await assert.rejects(() => world.list(policyId, { url }), /400/);
    for (const headers of [{ host: 'x' }, { 'accept-encoding': 'gzip' }, { 'if-none-match': 'x' }, { 'a b': 'x' }])
      await assert.rejects(() => world.list(policyId, { url: 'https://example.com/', headers }), /400/);
    await assert.rejects(() => world.list(policyId, { file: 'x.txt', headers: { 'x-key': 'x' } }), /400/);
  });

  test('keep policy and action', async () => {
    world.write('fixed.txt', '192.0.2.1');
    const { policyId } = await world.site();
    const { id } = await world.list(policyId, { file: 'fixed.txt' });
    await assert.rejects(() => world.edge.api('PATCH', `/ip_policy_lists/${id}`, { action: 'allow' }), /400/);
  });
});

suite('a list at a URL of this machine or of a private network', () => {
  test('is not requested unless lists_allow_cidrs allows it, and says nothing about what answers there', async (t) => {
    const closed = await ListWorld.open(t, { POSTERN_LISTS_ALLOW_CIDRS: '' });
    closed.publish = (request, response) => {
      response.statusCode = request.url === '/401' ? 401 : 404;
      response.end();
    };
    const { policyId } = await closed.site();
    const { port } = new URL(closed.url());
    const api = new URL(closed.edge.world.baseUrl);
    const urls = [
      ...['/401', '/404'].map((path) => closed.url(path)),
      `http://localhost:${port}/401`,
      `https://127.0.0.1:${port}/`,
      `https://[::ffff:127.0.0.1]:${port}/`,
      'https://10.255.255.1/',
      'https://169.254.169.254/latest',
      `http://127.0.0.1:${api.port}/healthz`,
      // Nothing listens there.
      'http://127.0.0.1:1/',
    ];
    const errors = new Set<string>();
    for (const url of urls) {
      const headers = { authorization: 'Bearer chosen' };
      const { id } = await closed.list(policyId, { url, headers });
      const { error, status } = await closed.refresh(id);
      assert.equal(status, 'missing', url);
      errors.add(String(error).replaceAll(/address \S+/g, 'ADDRESS'));
    }
    assert.equal(closed.asked.length, 0);
    assert.equal(errors.size, 1, [...errors].join('\n'));
    assert.match([...errors][0] ?? '', /setting lists_allow_cidrs/);
  });

  test('never leads to the API of the server, whatever is allowed', async () => {
    const { policyId } = await world.site();
    const api = new URL(world.edge.world.baseUrl);
    const { id } = await world.list(policyId, { url: `http://127.0.0.1:${api.port}/healthz` });
    assert.match(String((await world.refresh(id)).error), /could not be fetched: .*lists_allow_cidrs/);
  });
});
