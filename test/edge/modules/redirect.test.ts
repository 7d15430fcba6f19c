import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { ask, PROTOCOLS } from './hooked-client.ts';
import { ModuleWays } from './module-ways.ts';

const ways = await ModuleWays.open({ after });
const [way = assert.fail()] = ways.ways;
const path = `${way.routePath}/redirect`;

/** Status and Location of a path, the same on these ways and with both protocols. */
async function redirected(asked: string, on = ways.ways): Promise<string> {
  const seen = new Set<string>();
  for (const { edge, host } of on) {
    for (const protocol of PROTOCOLS) {
      const { status, headers, body } = await ask(edge, host, protocol, { path: asked });
      assert.ok(status === 200 || status >= 400 || body.length === 0, asked);
      seen.add(`${status} ${String(headers.location ?? '-').replace(host, 'HOST')}`);
    }
  }
  assert.equal(seen.size, 1, `${asked}: ${[...seen].join(', ')}`);
  return [...seen][0] ?? '';
}

const rule = (match_type: string, match: string, to: string, status_code?: number) => ({
  ...{ match_type, match, to },
  ...(status_code !== undefined && { status_code }),
});

async function put(...rules: object[]) {
  return ways.edge.world.api('PUT', path, { rules });
}

suite('redirect', () => {
  test('the first rule that matches decides, on every way; a change is effective immediately', async () => {
    await ways.put('redirect', {
      rules: [
        rule('exact_path', '/old', '/new', 301),
        rule('path_prefix', '/old/', 'https://other.example/a/', 308),
        rule('regex', '^/u/([0-9]+)/(.*)$', '/users/$1?file=$2', 307),
        rule('path_prefix', '/dollar/', '/$$1/'),
        rule('path_prefix', '/old/never', '/never'),
        rule('exact_path', '/plain', 'http://plain.example:8080/?'),
        rule('exact_path', '/part', '/page#part'),
      ],
    });
    for (const [asked, expected] of [
      ['/old', '301 https://HOST/new'],
      ['/old?a=1&b', '301 https://HOST/new?a=1&b'],
      ['/%6fld', '301 https://HOST/new'],
      ['/old/never?x', '308 https://other.example/a/never?x'],
      ['/old/a%2Fb;c=%C3%A4', '308 https://other.example/a/a%2Fb;c=%C3%A4'],
      ['/u/12/a&b=c', '307 https://HOST/users/12?file=a%26b%3Dc'],
      ['/u/1%32/x?dropped=1', '307 https://HOST/users/12?file=x'],
      ['/dollar/x', '302 https://HOST/$1/x'],
      ['/plain?a', '302 http://plain.example:8080/'],
      ['/part?q', '302 https://HOST/page?q#part'],
      ['/OLD', '200 -'],
      ['/new', '200 -'],
    ] as const)
      assert.equal(await redirected(asked), expected, asked);
    const read = await ways.edge.api('GET', path);
    assert.deepEqual(read.rules[3], rule('path_prefix', '/dollar/', '/$$1/', 302));
    await ways.put('redirect', { enabled: false, rules: [rule('path_prefix', '/', 'https://a.example/')] });
    assert.equal(await redirected('/old'), '200 -');
    await ways.put('redirect', { rules: [rule('path_prefix', '/', 'https://a.example/')] });
    assert.equal(await redirected('/old'), '302 https://a.example/old');
    await ways.delete('redirect');
    assert.equal(await redirected('/old'), '200 -');
  });

  test('no path leads to another site, or to an address that others read differently', async () => {
    await ways.put('redirect', {
      rules: [
        rule('regex', '^/go(.*)$', '/$1'),
        rule('regex', '^/to/([^/]*)(.*)$', 'https://safe.example/$1$2'),
        rule('regex', '^/join/(.*)/(.*)$', '/x$1$2'),
        rule('path_prefix', '/cut', '/'),
      ],
    });
    for (const [asked, expected] of [
      ['/go/evil.example', '400 -'],
      ['/go%2Fevil.example', '400 -'],
      ['/go%2fevil.example', '400 -'],
      ['/goevil.example', '302 https://HOST/evil.example'],
      ['/to/@evil.example/', '302 https://safe.example/@evil.example/'],
      ['/to/.evil.example', '302 https://safe.example/.evil.example'],
      ['/to/x:y@evil', '302 https://safe.example/x:y@evil'],
      ['/to/%255cevil', '302 https://safe.example/%255cevil'],
      ['/join/%/2fevil', '400 -'],
      ['/join/%25/2fevil', '302 https://HOST/x%252fevil'],
      ['/cut/evil.example', '302 https://HOST/evil.example'],
      ['/cut%2Fevil.example', '400 -'],
      [`/go${'a'.repeat(2_100)}`, '400 -'],
      ['/to/%0d%0aset-cookie:a=1', '400 -'],
      ['/to/%5Cevil', '400 -'],
    ] as const)
      assert.equal(await redirected(asked, [way]), expected, asked);
    await ways.put('redirect', { rules: [rule('regex', '(.+)', `/x${'$1'.repeat(20)}`)] });
    assert.equal(await redirected(`/${'a'.repeat(1_000)}`, [way]), '400 -', 'a result without bounds');
  });

  test('rules that can lead elsewhere, nowhere or in a circle are refused with their place', async () => {
    for (const [given, field, message] of [
      [rule('exact_path', '/a', '//evil.example'), 'to', /empty segment/],
      [rule('exact_path', '/a', '/\\evil.example'), 'to', /backslash/],
      [rule('exact_path', '/a', '/%5Cevil.example'), 'to', /backslash/],
      [rule('exact_path', '/a', '/%2f/evil.example'), 'to', /empty segment/],
      [rule('exact_path', '/a', 'https:/evil.example/'), 'to', /must start with/],
      [rule('exact_path', '/a', 'javascript:alert(1)'), 'to', /must start with/],
      [rule('exact_path', '/a', 'HTTPS://a.example/'), 'to', /must start with/],
      [rule('exact_path', '/a', 'https://example.com'), 'to', /"\/" after the host/],
      [rule('exact_path', '/a', 'https://example.com?x'), 'to', /"\/" after the host/],
      [rule('exact_path', '/a', 'https://example.com\\@evil/'), 'to', /"\/" after the host/],
      [rule('regex', '^/(.*)$', 'https://example.com$1'), 'to', /host/],
      [rule('regex', '^/(.*)$', 'https://$1/'), 'to', /host/],
      [rule('exact_path', '/a', 'https://user@example.com/'), 'to', /user name/],
      [rule('exact_path', '/a', 'https://user:pw@example.com/'), 'to', /user name/],
      [rule('exact_path', '/a', 'https://[::1]/'), 'to', /host/],
      [rule('exact_path', '/a', 'https:///a'), 'to', /host/],
      [rule('exact_path', '/a', '/b\r\nset-cookie: a=1'), 'to', /must be percent-encoded/],
      [rule('exact_path', '/a', '/b%0d'), 'to', /control characters/],
      [rule('exact_path', '/a', '/b#\r\n'), 'to', /fragment/],
      [rule('exact_path', '/a', '/b/../c'), 'to', /segments/],
      [rule('exact_path', '/a', '/$1'), 'to', /only regular expressions/],
      [rule('exact_path', '/a', '/$x'), 'to', /\$\$/],
      [rule('regex', '^/(a)$', '/$2'), 'to', /1 groups/],
      [rule('path_prefix', '/a/', '/b'), 'to', /ends with "\/"/],
      [rule('exact_path', 'a', '/b'), 'match', /start with/],
      [rule('exact_path', '/a?b', '/b'), 'match', /"\?"/],
      [rule('regex', '(', '/b'), 'match', /RE2/],
      [rule('exact_path', '/b', '/c', 303), 'status_code', /301/],
      [rule('suffix', '/b', '/c'), 'match_type', /exact_path/],
      [rule('exact_path', '/a', '/a'), 'to', /loop/],
      [rule('path_prefix', '/a', '/a/b'), 'to', /loop/],
      [rule('path_prefix', '/', '/new/'), 'to', /loop/],
      [rule('regex', '^/(.*)$', '/new/$1'), 'to', /loop/],
    ] as const) {
      const { status, body } = await put(given);
      assert.deepEqual([status, body.details?.field], [400, `/rules/0/${field}`], JSON.stringify(given));
      assert.match(body.msg, message, JSON.stringify(given));
    }
    assert.equal((await put()).status, 400);
    const circle = await put(
      rule('exact_path', '/a', '/b'),
      rule('exact_path', '/b', '/c'),
      rule('regex', '^/c$', '/a'),
    );
    assert.deepEqual([circle.status, circle.body.details.field], [400, '/rules/0/to']);
    // Redirects to these targets end: an address that differs in its query, and one that leaves the rules.
    for (const fine of [
      rule('exact_path', '/a', '/a?lang=en'),
      rule('regex', '^/x/(.*)$', '/$1'),
      rule('path_prefix', '/a', '/b'),
    ])
      assert.equal((await put(fine)).status, 200, JSON.stringify(fine));
  });

  test('own paths and challenges of ACME servers are never redirected', async () => {
    await ways.put('redirect', { rules: [rule('path_prefix', '/', 'https://other.example/')] });
    for (const asked of ['/.postern/x', '/%2epostern/x', '/.well-known/acme-challenge/token'])
      assert.equal(await redirected(asked), '200 -', asked);
    assert.equal(await redirected('/.well-known/other'), '302 https://other.example/.well-known/other');
  });

  test('an edge with www and without: each address is served once', async () => {
    const site = await ways.edge.site(await ways.edge.httpResponse('page'));
    const hosts = [site.host, `www.${site.host}`];
    const hostports = hosts.map((host) => `${host}:443`);
    await ways.edge.api('PATCH', site.edgePath, { hostports });
    const to = `https://${site.host}/`;
    await ways.edge.api('PUT', `${site.routePath}/redirect`, { rules: [rule('path_prefix', '/', to, 308)] });
    const answers = [];
    for (const host of hosts) {
      const { status, headers } = await ways.edge.ask(host, '/a?b=1');
      answers.push(status, headers.location);
    }
    assert.deepEqual(answers, [200, undefined, 308, `${to}a?b=1`]);
    const withDot = rule('path_prefix', '/', `https://${site.host}./`);
    await ways.edge.api('PUT', `${site.routePath}/redirect`, { rules: [withDot] });
    assert.equal(await ways.edge.status(site.host, '/'), 200, 'the same name with the dot of the root');
  });

  test('a redirect is shown as an answer, and not as a refusal', async () => {
    await ways.put('redirect', { rules: [rule('path_prefix', '/old/', '/new/')] });
    const { headers } = await ask(ways.edge, way.host, 'h2', { path: '/old/x' });
    const request = await ways.edge.api('GET', `/requests/${String(headers['postern-request-id'])}`);
    assert.deepEqual([request.refused_by, request.answered_by, request.status], [undefined, 'redirect:rule', 302]);
    const decision = { module: 'redirect', decision: 'answer', reason: 'rule' };
    assert.deepEqual(request.decisions, [{ ...decision, rule: 'rules[0] path_prefix /old/' }]);
    const metrics = await ways.edge.metrics();
    assert.match(metrics, /^postern_edge_answered_total\{[^}]*module="redirect",reason="rule"\} [1-9]/m);
    assert.doesNotMatch(metrics, /^postern_edge_refused_total\{[^}]*module="redirect",reason="rule"/m);
    const explained = await ways.edge.api('POST', '/explain', { url: `https://${way.host}/old/x?y` });
    const { status, location } = explained.outcome;
    assert.deepEqual([status, location], [302, `https://${way.host}/new/x?y`]);
    assert.equal(explained.decisions[0].decision, 'answer');
    const passed = await ways.edge.api('POST', '/explain', { url: `https://${way.host}/other` });
    assert.equal(passed.decisions[0].reason, 'no_rule');
  });
});

test('an agent asks for redirects with lines', async () => {
  const addr = ways.serviceAddress;
  const open = (rules: string[]) => ways.world.agent([{ proto: 'https', addr, modules: { redirect: { rules } } }]);
  const agent = await open(['path_prefix /old/ https://other.example/ 301', 'regex ^/(a,b)$ /found/$1']);
  const host = new URL(agent.publicUrl ?? '').hostname;
  const location = async (asked: string) => {
    const { status, headers } = await ask(ways.edge, host, 'h2', { path: asked });
    return [status, headers.location];
  };
  assert.deepEqual(await location('/old/x?y'), [301, 'https://other.example/x?y']);
  assert.deepEqual(await location('/a,b'), [302, `https://${host}/found/a,b`]);
  assert.deepEqual(await location('/other'), [200, undefined]);
  for (const line of ['/old /new', 'exact_path /a //evil', 'exact_path /a /b 303', 'exact_path /a /b 301 x', ''])
    await assert.rejects(open([line]), /redirect/, line);
  await assert.rejects(open([]), /redirect/);
});
