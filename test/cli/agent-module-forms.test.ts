import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runFlags, tunnelFlags, tunnelGroups } from '../../src/app/cli/agent/agent-syntax.ts';
import { examineAgentConfig } from '../../src/app/cli/agent/config/read-agent-config.ts';
import { moduleForms } from '../../src/app/cli/agent/module-forms.ts';
import { createTunnelCommand } from '../../src/app/cli/agent/tunnel-command.ts';
import { agentModules, commandForm } from '../../src/modules/agent-modules.ts';
import { modules } from '../../src/modules/registry.ts';
import { decodeModules, ModuleRefusal } from '../../src/proxy/edge/tunnels/endpoint-publisher.ts';
import { AgentWorld } from './agent-world.ts';

function isTakenByAgent(range: string): boolean {
  const text = JSON.stringify(range);
  const file = `version: 2\ntunnels:\n  a: { addr: 1, proto: http, ip_restriction: { allow_cidrs: [${text}] } }\n`;
  return examineAgentConfig(file, 'f').ok;
}

function isTakenByServer(range: string): boolean {
  const asked = { ip_restriction: { allow: [range], deny: [] } };
  try {
    decodeModules('ep_1', 'https', asked, { modules, moduleSettings: new Map() });
    return true;
  } catch (error) {
    assert.ok(error instanceof ModuleRefusal);
    return false;
  }
}

test('a range with bits beyond its prefix is rejected by the agent, as by the server, and not only once it is bound', async () => {
  assert.ok(!isTakenByAgent('10.0.0.1/8'));
  assert.ok(!isTakenByServer('10.0.0.1/8'));
  const world = new AgentWorld({});
  await assert.rejects(
    world.run(createTunnelCommand('http', world.ports), ['3000', '--allow-cidr', '10.0.0.1/8']),
    /--allow-cidr has bits set beyond its prefix: .*"10\.0\.0\.0\/8"/,
  );
});

test('agent and server agree about every range', () => {
  const octet = fc.integer({ min: 0, max: 300 });
  const prefix = fc.oneof(fc.integer({ min: 0, max: 140 }).map(String), fc.constantFrom('', '08', '+8', '-1'));
  const address = fc.oneof(
    fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.')),
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom('::ffff:10.0.0.0', '::10.1.1.1', 'fe80::1%eth0', '167837953', '0xa.1.1.1', '10.0.0.0 ', ''),
  );
  const range = fc.oneof(
    fc.tuple(address, prefix).map(([host, bits]) => `${host}/${bits}`),
    address,
    fc.string({ minLength: 1, maxLength: 20 }),
  );
  fc.assert(
    fc.property(range, (text) => {
      // An empty text is already a mistake in the file, before it is checked as a range.
      if (text !== '') assert.equal(isTakenByAgent(text), isTakenByServer(text), JSON.stringify(text));
    }),
    { numRuns: 500, examples: [['10.0.0.0/8'], ['10.0.0.1/8'], ['::1/64'], ['all'], ['0.0.0.0/0']] },
  );
});

test('more ranges than the server takes are rejected before the agent starts', () => {
  const ranges = Array.from({ length: 101 }, (_, at) => `10.0.${at}.0/24`);
  const file = `version: 2\ntunnels:\n  a: { addr: 1, proto: tcp, ip_restriction: { deny_cidrs: [${ranges.join(', ')}] } }\n`;
  const reading = examineAgentConfig(file, 'f');
  assert.ok(!reading.ok);
  assert.match(reading.problems.join('\n'), /deny_cidrs can have at most 100 items/);
});

test('the forms of the commands are those of the registry', () => {
  const declared = agentModules(modules).map(commandForm);
  assert.deepEqual(moduleForms(), JSON.parse(JSON.stringify(declared)));
});

test('no flag and no key stands for two things', () => {
  for (const command of ['http', 'tcp', 'tls', 'tunnel'] as const) {
    const names = [...tunnelFlags(command), ...tunnelGroups(command).flatMap(({ flags }) => flags), ...runFlags].map(
      ({ name }) => name,
    );
    assert.deepEqual(names, [...new Set(names)], command);
  }
  const keys = moduleForms().flatMap(({ key, bare }) => [key, bare?.key ?? []].flat());
  assert.deepEqual(keys, [...new Set(keys)]);
});
