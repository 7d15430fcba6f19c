import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import type { EdgeAnswer } from '../support/edge-world.ts';
import { LoginWorld } from '../support/login-world.ts';
import { CiIssuer, type TokenChanges } from './ci-issuer.ts';
import { assertRefused, ProgramsWorld } from './programs-world.ts';

const login = await LoginWorld.open({ after });
const { edge } = login;
const world = new ProgramsWorld(login);
const ci = await CiIssuer.open({ after });
const otherIssuer = await CiIssuer.open({ after });
const backup = await world.program();
const claims = { repository: ['acme/app'] };
const site = await world.site({
  allow: [{ service_accounts: [backup.accountId] }],
  bearer: [
    { issuer: ci.issuer, audiences: ['postern', 'second'], claims },
    { issuer: otherIssuer.issuer, audiences: ['elsewhere'], claims },
  ],
});
const NOW = Math.floor(Date.now() / 1000);
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

suite('tokens of service accounts', () => {
  test('of a deactivated account are rejected until it is active again', async () => {
    const path = `/service_accounts/${backup.accountId}`;
    await edge.api('PATCH', path, { active: false });
    assert.equal(assertRefused(await world.ask(site, backup.token), 401, 'invalid_token'), 'token_inactive');
    await edge.api('PATCH', path, { active: true });
    assert.equal((await world.ask(site, backup.token)).status, 200);
  });

  test('are rejected once they are deleted or expired', async () => {
    const { tokenId, token } = await world.program();
    await edge.api('DELETE', `/service_account_tokens/${tokenId}`);
    assert.equal(assertRefused(await world.ask(site, token), 401, 'invalid_token'), 'token_deleted');
    const brief = await world.program('brief', { expires_at: new Date(Date.now() + 60_000).toISOString() });
    login.clock.advance(61);
    assert.equal(assertRefused(await world.ask(site, brief.token), 401, 'invalid_token'), 'token_expired');
    login.clock.reset();
  });

  test('of another route are forbidden here', async () => {
    const other = await world.program();
    const elsewhere = await world.site({ allow: [{ service_accounts: [other.accountId] }] });
    assert.equal((await world.ask(elsewhere, other.token)).status, 200);
    assertRefused(await world.ask(site, other.token), 403, 'insufficient_scope');
    assertRefused(await world.ask(elsewhere, backup.token), 403, 'insufficient_scope');
  });

  test('that are not exactly a stored one are rejected', async () => {
    const { token } = backup;
    const near = [token.slice(0, -1), `${token}x`, `${token}=`, 'pst_', `pst_${'x'.repeat(10_000)}`];
    for (const each of near) assertRefused(await world.ask(site, each), 401, 'invalid_token');
    // Not ours, so nobody's here.
    for (const each of [token.toUpperCase(), token.slice(4)]) assertRefused(await world.ask(site, each), 401, null);
  });

  test('are not read from the query, a cookie or a form', async () => {
    const { token } = backup;
    const answers = [
      await world.ask(site, null, { path: `/?access_token=${token}` }),
      await world.ask(site, null, { headers: { cookie: `token=${token}; authorization=Bearer ${token}` } }),
      await world.ask(site, null, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `access_token=${token}`,
      }),
    ];
    for (const { status, text } of answers) {
      assert.equal(status, 403, text);
      assert.equal(JSON.parse(text).error_code, 'ERR_POSTERN_ACCESS_LOGIN_NEEDED');
    }
  });

  test('reach no log line', () => {
    const lines = edge.world.logLines.join('\n');
    assert.ok(lines.includes('access:token_deleted'), 'refusals are logged');
    assert.ok(!lines.includes('pst_'), 'tokens are not');
  });
});

suite('Authorization fields', () => {
  const { token } = backup;
  const FORMS: readonly (readonly [form: string, status: number])[] = [
    [`Bearer ${token}`, 200],
    [`bearer ${token}`, 200],
    [`BEARER   ${token}`, 200],
    [`Bearer ${token}  `, 200],
    [`Bearer\t${token}`, 400],
    [`Bearer ${token}, Bearer ${token}`, 400],
    [`Bearer ${token} x`, 400],
    [`Bearer: ${token}`, 400],
    [`Token ${token}`, 400],
    [`Token token="${token}"`, 400],
    [token, 400],
    ['Bearer', 401],
    ['Bearer app token', 401],
    [`Bearerx ${token.slice(4)}`, 403],
    [`Basic ${Buffer.from(`x:${token}`).toString('base64')}`, 403],
  ];
  for (const [form, status] of FORMS) {
    test(`gets ${status} for "${form.replaceAll(token, '<token>').slice(0, 40)}"`, async () => {
      const answer = await raw([`Authorization: ${form}`]);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
    });
  }

  test('are rejected when there are several and one has a bearer token', async () => {
    for (const lines of [
      [`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`],
      ['Authorization: Basic eDp5', `authorization: bearer ${token}`],
      [`Authorization: Bearer ${token}`, 'Authorization: Bearer other'],
    ]) {
      assert.match(await raw(lines), /^HTTP\/1\.1 400 [\s\S]*error="invalid_request"/);
    }
  });
});

test('several Authorization fields are rejected over HTTP/2', async () => {
  const session = await edge.http2(site.host, { rejectUnauthorized: false, strictSingleValueFields: false } as never);
  const fields = ['authorization', 'Basic eDp5', 'authorization', `Bearer ${backup.token}`];
  const stream = session.request([
    ':path',
    '/',
    ':method',
    'GET',
    ':authority',
    site.host,
    ':scheme',
    'https',
    ...fields,
  ]);
  const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
  stream.close();
  assert.equal(headers[':status'], 400);
});

suite('tokens of workloads', () => {
  const ACCEPTED: readonly (readonly [name: string, changes: TokenChanges])[] = [
    ['an audience among several', { claims: { aud: ['other', 'second'] } }],
    ['an expiry within the clocks’ tolerance', { claims: { exp: NOW - 20 } }],
    ['a start within the clocks’ tolerance', { claims: { nbf: NOW + 20, iat: NOW + 20 } }],
    ['the type of an access token', { header: { typ: 'at+jwt' } }],
  ];
  for (const [name, changes] of ACCEPTED) {
    test(`pass with ${name}`, async () => {
      assert.equal((await world.ask(site, await ci.token(changes))).status, 200);
    });
  }

  const REFUSED: readonly (readonly [name: string, changes: TokenChanges, reason: string])[] = [
    ['that expired', { claims: { exp: NOW - 90 } }, 'workload_token_expired'],
    ['that start later', { claims: { nbf: NOW + 300 } }, 'workload_token_not_before'],
    ['that were issued in the future', { claims: { iat: NOW + 300 } }, 'workload_token_issued_at'],
    ['without an expiry', { claims: { exp: undefined } }, 'workload_token_expired'],
    ['with an expiry that is a text', { claims: { exp: '9999999999' } }, 'workload_token_expired'],
    ['without a subject', { claims: { sub: undefined } }, 'workload_token_subject'],
    ['with a subject of two lines', { claims: { sub: 'a\r\nx: y' } }, 'workload_token_subject'],
    ['without an audience', { claims: { aud: undefined } }, 'workload_token_audience'],
    ['with no audience in the list', { claims: { aud: [] } }, 'workload_token_audience'],
    ['for another audience', { claims: { aud: ['Postern', 'postern '] } }, 'workload_token_audience'],
    ['for the audience of another issuer', { claims: { aud: 'elsewhere' } }, 'workload_token_audience'],
    ['signed with another key', { key: stranger }, 'workload_token_signature'],
    ['signed by another listed issuer', { key: otherIssuer.key.privateKey }, 'workload_token_signature'],
    ['of another type', { header: { typ: 'logout+jwt' } }, 'workload_token_type'],
    ['of a type that is no text', { header: { typ: 1 as never } }, 'workload_token_type'],
    ['of another algorithm of the key', { header: { alg: 'PS256' } }, 'workload_token_algorithm'],
    ['with an unknown critical header', { header: { crit: ['unknown'], unknown: true } }, 'workload_token_algorithm'],
    ['that are too long', { claims: { filler: 'x'.repeat(16_384) } }, 'token_too_long'],
  ];
  for (const [name, changes, reason] of REFUSED) {
    test(`are rejected ${name}`, async () => {
      const answer = await world.ask(site, await ci.token(changes));
      assert.equal(assertRefused(answer, 401, 'invalid_token'), reason, answer.text);
    });
  }

  for (const alg of ['none', 'HS256'] as const) {
    test(`are rejected with the algorithm ${alg}`, async () => {
      const answer = await world.ask(site, await ci.forged(alg));
      assert.equal(assertRefused(answer, 401, 'invalid_token'), 'workload_token_algorithm');
    });
  }

  test('of an issuer that is not listed, or written otherwise, are nobody’s', async () => {
    const foreign = await CiIssuer.open({ after });
    const tokens = [
      await foreign.token(),
      await ci.token({ claims: { iss: `${ci.issuer}/` } }),
      await ci.token({ claims: { iss: ci.issuer.toUpperCase() } }),
      await ci.token({ claims: { iss: [ci.issuer] } }),
      `eyJhbGciOiJSUzI1NiJ9.${Buffer.from('['.repeat(8000)).toString('base64url')}.x`,
    ];
    for (const token of tokens) assertRefused(await world.ask(site, token), 401, null);
    assert.equal(foreign.keyFetches, 0, 'an issuer that nobody listed is not contacted');
  });

  test('that expire late are rejected after the issuer withdrew their key, although they were verified', async () => {
    const rotating = await CiIssuer.open({ after });
    const there = await world.site({ bearer: [{ issuer: rotating.issuer, audiences: ['postern'], claims }] });
    const token = await rotating.token({ claims: { exp: NOW + 365 * 86_400 } });
    assert.equal((await world.ask(there, token)).status, 200);
    rotating.key = generateKeyPairSync('rsa', { modulusLength: 2048 });
    login.clock.advance(70 * 60);
    const answer = await world.ask(there, token);
    login.clock.reset();
    assert.equal(assertRefused(answer, 401, 'invalid_token'), 'workload_token_signature');
  });

  test('with invented key ids cause one fetch of the keys per minute', async () => {
    const flooded = await CiIssuer.open({ after });
    const there = await world.site({ bearer: [{ issuer: flooded.issuer, audiences: ['postern'], claims }] });
    assert.equal((await world.ask(there, await flooded.token())).status, 200);
    assert.equal(flooded.keyFetches, 1);
    const flood = async (): Promise<void> => {
      const answers: Promise<EdgeAnswer>[] = [];
      for (let at = 0; at < 30; at += 1) {
        const kid = `invented-${at}`;
        const token = await flooded.token(at % 2 ? { header: { kid }, claims: { jti: kid } } : { key: stranger });
        answers.push(world.ask(there, token));
      }
      for (const answer of await Promise.all(answers)) assertRefused(answer, 401, 'invalid_token');
    };
    await flood();
    assert.equal(flooded.keyFetches, 2);
    login.clock.advance(30);
    await flood();
    assert.equal(flooded.keyFetches, 2);
    login.clock.advance(31);
    await flood();
    assert.equal(flooded.keyFetches, 3);
    login.clock.reset();
    assert.equal((await world.ask(there, await flooded.token())).status, 200);
  });
});

suite('issuers in "bearer"', () => {
  const put = (issuer: string, fields: object = {}) =>
    edge.world.api('PUT', `${site.routePath}/access`, {
      bearer: [{ issuer, audiences: ['postern'], claims, ...fields }],
    });

  test('must be https URLs without a query', async () => {
    for (const issuer of ['token.ci.example', 'http://token.ci.example', 'https://ci.example/?x', 'file:///x']) {
      const answer = await put(issuer);
      assert.equal(answer.status, 400, issuer);
      assert.equal(answer.body.details.field, '/bearer/0/issuer');
    }
  });

  test('need an audience and a claim', async () => {
    for (const fields of [{ audiences: [] }, { audiences: undefined }, { claims: {} }, { claims: undefined }]) {
      const answer = await put('https://token.ci.example', fields);
      assert.equal(answer.status, 400, JSON.stringify(fields));
    }
  });
});

/** The response to a request with exactly these lines. */
async function raw(lines: readonly string[]): Promise<string> {
  const socket = await edge.connect(site.host, { rejectUnauthorized: false });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(`GET / HTTP/1.1\r\nHost: ${site.host}\r\nConnection: close\r\n${lines.join('\r\n')}\r\n\r\n`);
  await new Promise((resolve) => {
    socket.once('close', resolve);
  });
  return Buffer.concat(chunks).toString();
}
