// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the modules are written like this
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { after, suite, test } from 'node:test';
import { ask, begin, bytesOf, PROTOCOLS, type Sending } from './hooked-client.ts';
import { type Got, type ModuleWay, ModuleWays } from './module-ways.ts';

const ways = await ModuleWays.open({ after });

/** The same request on every way, with both protocols of clients. */
async function onEveryWay(sending: Sending, check: (got: Got, at: string, way: ModuleWay) => void): Promise<void> {
  for (const way of ways.ways) {
    for (const protocol of PROTOCOLS) {
      ways.got = [];
      const { status } = await ask(way.edge, way.host, protocol, sending);
      const at = `${protocol} to ${way.name}`;
      assert.equal(status, 200, at);
      const [got] = ways.got;
      assert.ok(got !== undefined, at);
      check(got, at, way);
    }
  }
}

suite('request_headers', () => {
  test('removes first, then adds; a name that is there gets a second value', async () => {
    await ways.put('request_headers', {
      add: { 'X-Added': 'one', 'x-both': 'ours', 'x-replaced': 'new' },
      remove: ['X-REPLACED', 'x-gone'],
    });
    const headers = { 'x-both': 'theirs', 'x-replaced': 'old', 'x-gone': '1', 'x-kept': '1' };
    await onEveryWay({ headers }, (got, at) => {
      const names = ['x-added', 'x-both', 'x-replaced', 'x-gone', 'x-kept'];
      const seen = names.map((name) => got.lines(name).join(', '));
      assert.deepEqual(seen, ['one', 'theirs, ours', 'new', '', '1'], at);
    });
    const [way] = ways.ways;
    const stored = await ways.edge.api('GET', `${way?.routePath}/request_headers`);
    assert.deepEqual(stored, {
      enabled: true,
      add: { 'x-added': 'one', 'x-both': 'ours', 'x-replaced': 'new' },
      remove: ['x-replaced', 'x-gone'],
    });
    await ways.put('request_headers', { ...stored, enabled: false });
    await onEveryWay({ headers }, (got, at) => assert.equal(got.headers['x-replaced'], 'old', at));
    await ways.delete('request_headers');
    await onEveryWay({ headers }, (got, at) => assert.equal(got.headers['x-gone'], '1', at));
  });

  test('replaces the host, and removes what the edge says about the client', async () => {
    await ways.put('request_headers', {
      add: { host: 'inner.example:8080' },
      remove: ['host', 'x-forwarded-for', 'x-forwarded-host', 'X-Forwarded-Proto', 'x-forwarded-port'],
    });
    await onEveryWay({}, (got, at) => {
      assert.equal(got.host, 'inner.example:8080', at);
      assert.deepEqual(
        Object.keys(got.headers).filter((name) => name.startsWith('x-forwarded')),
        [],
        at,
      );
    });
    await ways.put('request_headers', { remove: ['x-forwarded-for'] });
    await onEveryWay({}, (got, at, { host }) => {
      assert.deepEqual([got.host, got.headers['x-forwarded-host']], [host, host], at);
      assert.equal(got.headers['x-forwarded-for'], undefined, at);
    });
  });

  test('fills variables, and a visitor cannot send a header that the server vouches for', async () => {
    await ways.put('request_headers', {
      add: {
        'x-address': '${conn.client_ip}',
        'x-user': '${person.id}',
        'x-mixed': '$${x} ${req.method} ${.ngrok.client_ip} $1',
        'x-copied': "${req.headers.x-source}/${req.headers['X-Source']}/${req.cookies.a}",
        'x-country': '${conn.geo.country_code}',
        'x-plain': 'ours',
      },
    });
    const forged = {
      ...{ 'x-address': '6.6.6.6', 'X-User': 'admin', 'x-user': 'root', 'x-mixed': 'forged', 'x-country': 'XX' },
      ...{ 'x-source': 'v', cookie: 'b=2; a=1', 'x-plain': 'theirs' },
    };
    const headers = Object.fromEntries(Object.entries(forged).filter(([name]) => name === name.toLowerCase()));
    const trailers = { 'x-user': 'admin', 'x-address': '6.6.6.6', 'x-own': '1' };
    await onEveryWay({ method: 'POST', body: 'x', headers, trailers }, (got, at) => {
      assert.deepEqual(got.lines('x-address'), ['127.0.0.1'], at);
      assert.deepEqual(got.lines('x-user'), [''], at);
      assert.deepEqual(got.lines('x-mixed'), ['${x} POST 127.0.0.1 $1'], at);
      assert.deepEqual(got.lines('x-copied'), ['v/v/1'], at);
      assert.deepEqual(got.lines('x-country'), [''], at);
      assert.deepEqual(got.lines('x-plain'), ['theirs', 'ours'], at);
      assert.deepEqual(Object.entries(got.trailers), [['x-own', '1']], at);
    });
  });

  test('a visitor cannot send a name that CGI and PHP read as one that is vouched for or removed', async () => {
    await ways.put('request_headers', { add: { 'x-user-id': '${person.id}' }, remove: ['x-debug'] });
    const forged = { 'x.user.id': 'a', 'x-user.id': 'b', 'x!user~id': 'c', 'x.debug': 'd', 'x.own': 'kept' };
    await onEveryWay({ method: 'POST', body: 'x', headers: forged, trailers: forged }, (got, at) => {
      const names = Object.keys({ ...got.headers, ...got.trailers });
      const read = names.filter((name) => /^x.(?:user.id|debug|own)$/.test(name));
      assert.deepEqual([read.sort(), got.lines('x-user-id')], [['x-user-id', 'x.own'], ['']], at);
    });
  });

  test('leaves out and counts a value that would break the header or the host', async () => {
    await ways.put('request_headers', {
      add: { 'x-long': '${req.headers.x-source}'.repeat(9), host: '${req.headers.x-source}', 'x-short': 'y' },
      remove: ['x-long'],
    });
    await onEveryWay({ headers: { 'x-source': 'a'.repeat(1_000), 'x-long': 'forged' } }, (got, at, { host }) => {
      assert.deepEqual([got.lines('x-long'), got.lines('x-short'), got.host], [[], ['y'], host], at);
    });
    const counted = /^postern_header_values_left_out_total\{module="request_headers"\} (\d+)/m;
    assert.ok(Number(counted.exec(await ways.edge.metrics())?.[1]) >= 12);
    // A host of two lines, a path, or a port that is none leads nowhere.
    for (const value of ['a/b', 'a@b', 'a:0', 'a b', '[::1]', 'a:80:80', '']) {
      ways.got = [];
      const [way] = ways.ways;
      assert.ok(way !== undefined);
      await ask(way.edge, way.host, 'h2', { headers: { 'x-source': value } });
      assert.equal(ways.got[0]?.host, way.host, value);
    }
  });

  test('adds credentials that only readers of secrets see, and no explanation shows', async () => {
    await ways.put('request_headers', { add: { Authorization: 'Basic c2VjcmV0', cookie: 'k=secret', 'x-open': '1' } });
    await onEveryWay({}, (got, at) => {
      assert.deepEqual([got.headers.authorization, got.headers.cookie], ['Basic c2VjcmV0', 'k=secret'], at);
    });
    const [way] = ways.ways;
    assert.ok(way !== undefined);
    const path = `${way.routePath}/request_headers`;
    const explained = await ways.edge.world.api('POST', '/explain', { url: `https://${way.host}/` });
    assert.doesNotMatch(explained.text, /c2VjcmV0|k=secret/);
    const added = explained.body.upstream_request.headers_added;
    assert.deepEqual([added.authorization, added.cookie, added['x-open']], ['(hidden)', '(hidden)', '1']);
    const { token } = await ways.edge.api('POST', '/api_keys', { scopes: ['edges:read', 'edges:write'] });
    const blind = { authorization: `Bearer ${token}` };
    const read = await ways.edge.world.api('GET', path, undefined, { headers: blind });
    assert.deepEqual(read.body.add, { authorization: '', cookie: '', 'x-open': '1' }, read.text);
    const put = await ways.edge.world.api('PUT', path, { ...read.body, remove: ['x-other'] }, { headers: blind });
    assert.equal(put.status, 200, put.text);
    assert.equal((await ways.edge.api('GET', path)).add.authorization, 'Basic c2VjcmV0');
    assert.equal((await ways.edge.api('PUT', path, { add: { 'x-open': '1' } })).add.authorization, undefined);
  });
});

suite('response_headers', () => {
  test('is the last to touch a response of a backend, and touches no page of the edge', async () => {
    await ways.delete('request_headers');
    await ways.put('compression', {});
    await ways.put('response_headers', {
      add: { 'X-Frame-Options': 'DENY', 'x-status': '${res.status_code} ${res.headers.x-made-by}', 'x-both': 'ours' },
      remove: ['Server', 'vary', 'x-sum'],
    });
    ways.respond = (_request, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload', server: 'S' });
      response.writeHead(200, { 'content-type': 'text/plain', server: 'S', 'x-made-by': 'us', 'x-both': 'theirs' });
      response.write('a'.repeat(3_000));
      response.addTrailers({ 'x-sum': '1', 'x-kept': '2' });
      response.end();
    };
    for (const way of ways.ways) {
      for (const protocol of PROTOCOLS) {
        const at = `${protocol} to ${way.name}`;
        const sent = await begin(way.edge, way.host, protocol, { headers: { 'accept-encoding': 'gzip' } });
        let early: Readonly<Record<string, unknown>> = {};
        sent.outgoing.on('information', (information: IncomingMessage) => {
          early = information.headers;
        });
        sent.outgoing.on('headers', (fields: IncomingMessage['headers']) => {
          early = fields;
        });
        sent.outgoing.end();
        const answer = await sent.answered;
        const { headers } = answer;
        assert.deepEqual([early['link'], early['server']], ['</a.css>; rel=preload', undefined], at);
        assert.equal(headers['content-encoding'], 'gzip', at);
        assert.deepEqual(
          [headers.server, headers.vary, headers['x-frame-options']],
          [undefined, undefined, 'DENY'],
          at,
        );
        assert.deepEqual([headers['x-status'], headers['x-both']], ['200 us', 'theirs, ours'], at);
        await bytesOf(answer.incoming);
        assert.deepEqual(Object.entries(answer.trailers()), [['x-kept', '2']], at);
      }
    }
    await ways.put('backend', { enabled: false, backend_id: await ways.edge.httpResponse('x') });
    for (const { edge, host } of ways.ways) {
      const page = await edge.ask(host);
      assert.deepEqual([page.status, page.headers['x-frame-options']], [503, undefined]);
    }
  });

  test('sets no cookie of the server, and shows no page the credentials of the visitor', async () => {
    const site = await ways.edge.site(await ways.edge.httpResponse('x'));
    await ways.edge.api('PUT', `${site.routePath}/response_headers`, {
      add: {
        'set-cookie': '${req.headers.x-cookie}',
        'x-seen': '${req.headers.cookie}',
        'x-key': '[${req.headers.Authorization}]',
      },
    });
    const forged = { 'x-cookie': 'postern.session=pstn1.forged', cookie: 'a=1; postern.session=pstn1.real' };
    const sent = { ...forged, authorization: 'Basic YW5uOnNlY3JldA==' };
    for (const protocol of PROTOCOLS) {
      const { headers } = await ask(ways.edge, site.host, protocol, { headers: sent });
      assert.deepEqual([headers['set-cookie'], headers['x-seen'], headers['x-key']], [undefined, 'a=1', '[]']);
      const own = await ask(ways.edge, site.host, protocol, { headers: { 'x-cookie': 'theme=dark' } });
      assert.deepEqual(own.headers['set-cookie'], ['theme=dark']);
    }
  });
});

test('an agent asks for both modules with lines, which may contain commas', async () => {
  const modules = {
    request_headers: { add: ['X-Accept: a, b;q=1', 'x-user: ${person.id}'], remove: ['X-Gone'] },
    response_headers: { add: ['X-Frame-Options: DENY'], remove: [] },
  };
  const addr = ways.serviceAddress;
  const agent = await ways.world.agent([{ proto: 'https', addr, modules }]);
  ways.got = [];
  ways.respond = (_request, response) => response.end('ok');
  const host = new URL(agent.publicUrl ?? '').hostname;
  const { headers } = await ask(ways.edge, host, 'h2', { headers: { 'x-gone': '1', 'x-user': 'forged' } });
  const [got] = ways.got;
  assert.deepEqual([got?.lines('x-accept'), got?.lines('x-user'), got?.lines('x-gone')], [['a, b;q=1'], [''], []]);
  assert.equal(headers['x-frame-options'], 'DENY');
  for (const add of [['connection: close'], ['no colon'], ['x: ${nothing}'], ['x: 1', 'X: 2']]) {
    const refused = ways.world.agent([{ proto: 'https', addr, modules: { request_headers: { add, remove: [] } } }]);
    await assert.rejects(refused, /request_headers/, add.join());
  }
});
