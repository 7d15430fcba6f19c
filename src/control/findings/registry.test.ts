import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Facts } from './facts.ts';
import { alertAdvice, alertKinds, checks } from './registry.ts';

suite('the registry of findings', () => {
  test('has each kind once', () => {
    const ofChecks = checks.flatMap(({ kinds }) => Object.keys(kinds));
    assert.deepEqual(ofChecks, [...new Set(ofChecks)]);
    const ofAlerts = alertKinds.map(({ code }) => code);
    assert.deepEqual(ofAlerts, [...new Set(ofAlerts)]);
  });

  test('lists a raised alert unless a check looks for the same', () => {
    const alerts = [...alertKinds, { code: 'of_another_version' }].map(({ code }) => ({
      ...{ id: `al_${code}`, kind: code, title: `${code} is wrong` },
    }));
    const found = checks
      .filter(({ name }) => name === 'alerts')
      .flatMap((check) => [...check.run({ alerts } as unknown as Facts)]);
    assert.deepEqual(
      found.map((finding) => finding?.code ?? '').sort((one, other) => one.localeCompare(other)),
      [
        ...['agent_away', 'backend_failing', 'circuit_open', 'delivery_stuck', 'disk_nearly_full'],
        ...['file_descriptors_low', 'of_another_version'],
      ],
    );
    assert.deepEqual(found.at(-1), {
      ...{ level: 'problem', check: 'alerts', code: 'of_another_version', message: 'of_another_version is wrong' },
      ...{ advice: 'see the log of the server', about: { id: 'al_of_another_version' } },
    });
    assert.match(alertAdvice('node_lost'), /^start the node again/);
  });
});
