import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PEOPLE, type Person, RULINGS, rowsOf } from '../../../test/access/decision-table.ts';
import { type JsonObject, parseExactJson } from '../../kit/json.ts';
import type { Identity } from '../contract/decides.ts';
import type { RuleSet } from './access-config.ts';
import { compileRules, type Decision } from './rules.ts';

function identity(fields: Partial<Identity> = {}): Identity {
  return {
    kind: 'user',
    id: 'au_1',
    email: '',
    isEmailVerified: false,
    name: '',
    claims: {},
    droppedClaims: [],
    ...fields,
  };
}

function identityOf({ email = '', email_verified: isEmailVerified = false, claims }: Person): Identity {
  return identity({ email, isEmailVerified, claims });
}

function decide(rules: Partial<RuleSet>, fields: Partial<Identity>): Decision {
  return compileRules({ allow: [], deny: [], bearer: [], ...rules })(identity(fields));
}

suite('the decision table', () => {
  test('has at least 200 rows', () => {
    assert.ok(RULINGS.length * Object.keys(PEOPLE).length >= 200);
  });

  for (const [at, ruling] of RULINGS.entries()) {
    test(`rule set ${at}: ${JSON.stringify(ruling.rules)}`, () => {
      const evaluate = compileRules({ allow: [], deny: [], bearer: [], ...ruling.rules });
      const decided = Object.entries(PEOPLE).map(([person, described]) => {
        const { allowed, rule } = evaluate(identityOf(described));
        return { person, allowed, rule };
      });
      assert.deepEqual(decided, rowsOf(ruling));
    });
  }
});

suite('an address with a final dot', () => {
  const fields = { email: 'Former@Example.com.', isEmailVerified: true, claims: { team: 'dev' } };

  test('is the same one for deny rules, and matches no allow rule', () => {
    for (const rule of [{ emails: ['former@example.com'] }, { email_domains: ['example.com'] }]) {
      assert.equal(decide({ allow: [{ claims: { team: ['dev'] } }], deny: [rule] }, fields).rule, 'deny[0]');
      assert.equal(decide({ allow: [rule] }, fields).allowed, false);
    }
  });
});

suite('numbers that a double cannot hold', () => {
  test('match no rule by their rounded text', () => {
    const claims = { big: Number('1e400'), list: [Number('1e400')] };
    for (const name of ['big', 'list']) {
      assert.equal(decide({ allow: [{ claims: { [name]: ['null', 'Infinity'] } }] }, { claims }).allowed, false);
    }
  });

  test('match by their text, as exact as the provider wrote it', () => {
    const claims = parseExactJson('{"id":9007199254740993}') as JsonObject;
    const decided = ['9007199254740993', '9007199254740992'].map(
      (id) => decide({ allow: [{ claims: { id: [id] } }] }, { claims }).allowed,
    );
    assert.deepEqual(decided, [true, false]);
  });
});

suite('the reason of a refusal', () => {
  const atExample = { allow: [{ email_domains: ['example.com'] }] };

  test('says that a rule denied, that none allowed, that there is none, or that the address is not verified', () => {
    const ana = { email: 'ana@example.com', isEmailVerified: true };
    assert.equal(decide({ ...atExample, deny: [{ emails: ['ana@example.com'] }] }, ana).reason, 'denied');
    assert.equal(decide(atExample, { ...ana, email: 'ana@other.example' }).reason, 'no_rule');
    assert.equal(decide({}, ana).reason, 'no_rules');
    assert.equal(decide(atExample, { ...ana, isEmailVerified: false }).reason, 'email_unverified');
  });
});

suite('a claim that was too large to keep', () => {
  const dropped = { droppedClaims: ['groups', 'realm'] };

  test('matches deny rules, and no allow rules', () => {
    for (const name of ['groups', 'realm', 'realm.roles']) {
      const rule = { claims: { [name]: ['ops'] } };
      assert.equal(decide({ allow: [rule] }, dropped).allowed, false);
      const both = decide({ allow: [{ claims: { sub: ['1'] } }], deny: [rule] }, { ...dropped, claims: { sub: '1' } });
      assert.deepEqual(both, { allowed: false, rule: 'deny[0]', reason: 'denied' });
    }
  });

  test('may be any missing claim, when there were too many to name', () => {
    const identity = { droppedClaims: ['*'], claims: { sub: '1', team: 'dev' } };
    const allow = [{ claims: { sub: ['1'] } }];
    assert.equal(decide({ allow, deny: [{ claims: { groups: ['ops'] } }] }, identity).rule, 'deny[0]');
    assert.equal(decide({ allow, deny: [{ claims: { team: ['ops'] } }] }, identity).rule, 'allow[0]');
  });

  test('is no other claim', () => {
    const claims = { 'realm.name': 'a', team: 'ops' };
    const deny = [{ claims: { 'realm.name': ['b'] } }, { claims: { teams: ['ops'] } }];
    assert.equal(decide({ allow: [{ claims: { team: ['ops'] } }], deny }, { ...dropped, claims }).allowed, true);
  });
});

suite('kinds of requesters', () => {
  const claims: JsonObject = { iss: 'https://ci.example', aud: ['other', 'postern'], repository: 'acme/app' };
  const bearer = [
    { issuer: 'https://ci.example', audiences: ['none'], claims: { repository: ['acme/app'] } },
    { issuer: 'https://ci.example', audiences: ['postern'], claims: { repository: ['acme/app'] } },
  ];

  test('a workload passes by a bearer entry, and by no rule for people', () => {
    const workload = { kind: 'workload', email: 'a@example.com', isEmailVerified: true, claims } as const;
    assert.deepEqual(decide({ bearer }, workload), { allowed: true, rule: 'bearer[1]', reason: 'allowed' });
    const allow = [{ claims: { repository: ['acme/app'] } }, { emails: ['a@example.com'] }];
    assert.equal(decide({ allow }, workload).allowed, false);
    assert.equal(decide({ bearer, deny: [{ claims: { repository: ['acme/app'] } }] }, workload).rule, 'deny[0]');
    assert.equal(decide({ bearer, deny: [{ emails: ['A@example.com'] }] }, workload).rule, 'deny[0]');
    assert.equal(
      decide({ bearer }, { ...workload, claims: { ...claims, iss: 'https://evil.example' } }).allowed,
      false,
    );
    assert.equal(decide({ bearer }, { ...workload, kind: 'user' }).allowed, false);
  });

  test('a bearer entry cannot replace its issuer or audience by a claim of that name', () => {
    const [entry] = bearer;
    assert.ok(entry);
    const claimed = { ...entry, claims: { iss: ['https://evil.example'], aud: ['postern'] } };
    const from = { kind: 'workload', claims: { ...claims, iss: 'https://evil.example' } } as const;
    assert.equal(decide({ bearer: [claimed] }, from).allowed, false);
  });

  test('a service account passes by its id, and a guest by guests alone', () => {
    const account = { kind: 'service_account', id: 'sa_1' } as const;
    assert.equal(decide({ allow: [{ service_accounts: ['sa_2', 'sa_1'] }] }, account).rule, 'allow[0]');
    assert.equal(decide({ allow: [{ service_accounts: ['sa_1'] }] }, { id: 'sa_1' }).allowed, false);
    const guest = { kind: 'guest', id: 'gl_1', email: 'g@example.com', isEmailVerified: true } as const;
    assert.equal(decide({ allow: [{ guests: true }] }, guest).rule, 'allow[0]');
    assert.equal(decide({ allow: [{ guests: true }] }, account).allowed, false);
    assert.equal(decide({ allow: [{ emails: ['g@example.com'] }] }, guest).allowed, false);
    assert.equal(decide({ allow: [{ guests: true }], deny: [{ emails: ['g@example.com'] }] }, guest).allowed, true);
    assert.equal(decide({ allow: [{ guests: true }], deny: [{ guests: true }] }, guest).rule, 'deny[0]');
  });
});

test('a rule without a condition matches nobody, even if a store has it', () => {
  assert.equal(decide({ allow: [{}] }, { email: 'a@example.com', isEmailVerified: true }).allowed, false);
});

test('names that every object inherits are claims like others', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const claims = JSON.parse(`{"${name}":"x"}`) as JsonObject;
    const rule = { claims: JSON.parse(`{"${name}":["x","function","[object Object]"]}`) };
    assert.equal(decide({ allow: [rule] }, { claims }).allowed, true, name);
    assert.equal(decide({ allow: [rule] }, { claims: {} }).allowed, false, name);
  }
});

test('an address whose normal form belongs to somebody else is not theirs', () => {
  const kelvin = { email: '\u212aate@example.com', isEmailVerified: true };
  assert.equal(decide({ allow: [{ emails: ['kate@example.com'] }] }, kelvin).allowed, false);
  assert.equal(
    decide(
      { allow: [{ claims: { sub: ['1'] } }], deny: [{ emails: ['kate@example.com'] }] },
      { ...kelvin, claims: { sub: '1' } },
    ).rule,
    'deny[0]',
  );
});

test('a domain ends where it is written, not where a URL would end', () => {
  for (const domain of [
    'example.com/x',
    'example.com#.evil.example',
    'ex%61mple.com',
    'example.com:1',
    'example.com.',
  ]) {
    const email = `eve@${domain}`;
    const rules = { allow: [{ email_domains: ['example.com', '*.com'] }] };
    assert.equal(decide(rules, { email, isEmailVerified: true }).allowed, false, email);
  }
});

test('a stored rule whose claims have no names matches nobody', () => {
  const claims = {};
  assert.equal(decide({ allow: [{ claims }] }, {}).allowed, false);
  const bearer = [{ issuer: 'https://ci.example', audiences: ['postern'], claims }];
  const token = { iss: 'https://ci.example', aud: 'postern' };
  assert.equal(decide({ bearer }, { kind: 'workload', claims: token }).allowed, false);
});

test('a stored rule about an address claim admits nobody, and denies everybody', () => {
  const person = { email: 'ana@example.com', isEmailVerified: true, claims: { email: 'ana@example.com', sub: '1' } };
  for (const claims of [
    { email: ['ana@example.com'] },
    { Email: ['ana@example.com'] },
    { 'user.email': ['ana@example.com'] },
    { email_verified: [true] },
    { upn: ['ana@example.com'] },
  ]) {
    const held = { ...person, claims: { ...person.claims, ...claims, user: { email: 'ana@example.com' } } };
    assert.equal(decide({ allow: [{ claims }] }, held).allowed, false, JSON.stringify(claims));
    const both = decide({ allow: [{ claims: { sub: ['1'] } }], deny: [{ claims }] }, person);
    assert.equal(both.rule, 'deny[0]', JSON.stringify(claims));
  }
});
