// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the modules are written like this
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { preparePorts } from '../../../test/support/inert-ports.ts';
import { trafficRequest } from '../../../test/support/traffic-request.ts';
import { changeResponse } from '../response_headers/response-headers.ts';
import { parseTemplate, type ValueSource } from './template.ts';

const source: ValueSource = {
  request: {
    ...trafficRequest('GET', '/a/b', () => undefined),
    target: '/a/b?c=d',
    permit: {
      module: 'oidc',
      identity: {
        ...{ kind: 'user', id: 'u_1', email: 'ann@example.com', isEmailVerified: true, name: 'Ann', droppedClaims: [] },
        claims: {
          ...{ groups: ['a', 'b'], 'https://x.example/role': 'admin', nested: { x: 1 }, age: 7 },
          ...{ comma: ['a,admin'], spaced: ' admin', noBreak: '\u{a0}admin', items: ['a', ' admin'] },
        },
      },
    } as never,
  },
  headerLines: (name) => (name === 'x-one' ? ['1', '2'] : name === 'cookie' ? ['a=1; b=2'] : []),
  response: null,
  place: { kind: 'https_edge_route', edgeId: 'edghts_1', routeId: 'edghtsrt_1' },
};

function read(value: string): string | null {
  const template = parseTemplate(value);
  assert.ok(!('problem' in template), JSON.stringify(template));
  return template.read(source);
}

suite('the value of a header', () => {
  test('has variables in it, and the characters themselves with one dollar more', () => {
    for (const [value, expected] of [
      ['plain $ $5 {x} }', 'plain $ $5 {x} }'],
      ['a${req.method}b${ conn.client_ip }c', 'aGETb192.0.2.1c'],
      ['$${req.method} $$${req.method}', '${req.method} $${req.method}'],
      ['${.oauth.user.email} ${person.name} ${person.kind}', 'ann@example.com Ann user'],
      ["${claims.groups} ${claims['https://x.example/role']} ${claims.age} ${claims.none}", 'a,b admin 7 '],
      ['[${claims.nested}${claims.toString}${claims.__proto__}]', '[]'],
      ['${req.headers.X-One} ${req.cookies.b} ${req.cookies.c}', '1 2 '],
      ['${req.url} ${req.url.path} ${req.url.query}', 'https://app.example/a/b?c=d /a/b c=d'],
      ['${endpoint.url} ${endpoint.addr} ${endpoint.id}', 'https://app.example app.example:443 edghts_1'],
      ['${route.id}${res.status_code}${conn.geo.city}${conn.tls.cipher_suite}${backend.id}', 'edghtsrt_1'],
    ] as const)
      assert.equal(read(value), expected, value);
  });

  test('is refused with a name that does not exist, or without an end', () => {
    for (const value of [
      ...['${', '${}', '${ }', '${req.method', '${req method}', '${Req.method}', '${nothing}', '${req}', '${conn}'],
      ...['${req.methodx}', '${claims}', '${person.password}', '${constructor}', '${toString.x}', '${__proto__}'],
      ...["${claims['a}", '${claims["a"]}', '${${req.method}}', '${req.method\n}', '${process.env.HOME}'],
    ]) {
      const template = parseTemplate(value);
      assert.ok('problem' in template, value);
    }
  });

  test('says whether the server vouches for it', () => {
    for (const [value, isVouched] of [
      ['x ${person.id}', true],
      ['${claims.sub}${req.method}', true],
      ['${certificate.serial}', true],
      ['${conn.client_ip}', true],
      ['${conn.geo.country}', true],
      ['${.ngrok.client_ip}', true],
      ['${req.headers.x-user}', false],
      ['$${person.id}', false],
    ] as const) {
      const template = parseTemplate(value);
      assert.ok(!('problem' in template));
      assert.equal(template.isVouched, isVouched, value);
    }
  });

  test('is left out if a reader would see another one than the server vouches for', () => {
    for (const name of ['comma', 'spaced', 'noBreak', 'items']) assert.equal(read(`[\${claims.${name}}]`), null, name);
  });

  test('stops where it gets too long, and takes the cookies of a request apart once', () => {
    let asked = 0;
    const count = (): readonly string[] => {
      asked += 1;
      return ['; '.repeat(5_000)];
    };
    const long = parseTemplate('${req.headers.x-long}'.repeat(190));
    assert.ok(!('problem' in long));
    assert.equal(long.read({ ...source, headerLines: count }), null);
    assert.equal(asked, 1);
    const add = { 'x-a': '${req.cookies.a}'.repeat(200), 'x-b': '${req.cookies.b}'.repeat(200) };
    const { transform } = changeResponse({ enabled: true, add, remove: [] }, { ...preparePorts(), runtime: null });
    transform?.({ ...source.request, headerLines: count }, { status: 200, headers: [], bodyBytes: 0 });
    assert.equal(asked, 2);
  });

  test('is parsed without an exception, in linear time, whatever it is', () => {
    const pieces = ['$', '{', '}', '$${', '${', "['", "']", '.', 'req', 'headers', ' ', '-', 'a', '\n'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), (parts) => {
        const value = parts.join('');
        const template = parseTemplate(value);
        if (!('problem' in template) && !value.includes('${')) assert.equal(template.read(source), value);
      }),
    );
    for (const long of ['${a'.repeat(1_300), `\${${'.a'.repeat(2_000)}`, `\${a${"['x']".repeat(800)}`])
      parseTemplate(long);
  });
});
