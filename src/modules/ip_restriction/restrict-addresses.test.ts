import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { preparePorts } from '../../../test/support/inert-ports.ts';
import { type Answer, isAnswer, isPass, type Verdict } from '../contract/decides.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import { restrictAddresses } from './restrict-addresses.ts';

const RULES = [
  { id: 'ipr_allow', doc: { action: 'allow', cidr: '10.0.0.0/8' } },
  { id: 'ipr_deny', doc: { action: 'deny', cidr: '10.1.0.0/16' } },
];

function verdictOn(clientAddress: string): Exclude<Verdict, Answer> {
  const preparation = restrictAddresses(
    ['ipp_1'],
    preparePorts({ record: () => ({}), children: (kind) => (kind === 'ip_policy_rule' ? RULES : []) }),
  );
  assert(preparation.ok);
  const verdict = preparation.prepared.judge?.({ clientAddress } as TrafficRequest);
  assert(verdict !== undefined && !(verdict instanceof Promise) && !isAnswer(verdict));
  return verdict;
}

suite('the verdict on an address', () => {
  test('names the rule that allows it', () => {
    const verdict = verdictOn('10.2.3.4');
    assert.equal(isPass(verdict), true);
    const rule = { kind: 'ip_policy_rule', id: 'ipr_allow', parent: 'ipp_1', text: 'allow 10.0.0.0/8' };
    assert.deepEqual(verdict, { isPass: true, reason: 'address', rule });
  });

  test('names the rule that denies it, whatever allows it', () => {
    const verdict = verdictOn('10.1.3.4');
    assert.equal(isPass(verdict), false);
    assert.equal(verdict.reason, 'address');
    assert.equal(verdict.rule?.id, 'ipr_deny');
    assert.equal(verdict.rule?.text, 'deny 10.1.0.0/16');
  });

  test('names no rule when none matches, or the address cannot be read', () => {
    for (const address of ['192.0.2.1', 'unknown']) {
      const verdict = verdictOn(address);
      assert.equal(isPass(verdict), false);
      assert.equal(verdict.rule, undefined);
    }
  });
});
