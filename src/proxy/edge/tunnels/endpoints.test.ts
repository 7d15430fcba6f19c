import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type EndpointPublisher, type NewEndpoint, SharedEndpoints } from './endpoints.ts';

const ENDPOINT: NewEndpoint = {
  id: 'ep_1',
  tunnelId: 'tn_1',
  proto: 'https',
  host: 'a.test',
  port: null,
  modules: {},
};

function sharing(isOk = true): { readonly calls: string[]; readonly shared: SharedEndpoints } {
  const calls: string[] = [];
  const publisher: EndpointPublisher = {
    isCoveredByEdge: () => false,
    publish: ({ id }) => {
      calls.push(`publish ${id}`);
      if (!isOk) return Promise.resolve({ ok: false, code: 'X', message: 'no', retry: true });
      return Promise.resolve({ ok: true, publicUrl: 'https://a.test', hostport: 'a.test:443' });
    },
    withdraw: (id) => void calls.push(`withdraw ${id}`),
  };
  return { calls, shared: new SharedEndpoints(publisher) };
}

suite('an endpoint with two reasons to be published', () => {
  test('is published once and withdrawn with the last reason', async () => {
    const { calls, shared } = sharing();
    const [agent, directory] = [shared.as('agent'), shared.as('directory')];
    const [first, second] = await Promise.all([directory.publish(ENDPOINT), agent.publish(ENDPOINT)]);
    assert.deepEqual(first, second);
    directory.withdraw('ep_1');
    directory.withdraw('ep_1');
    assert.deepEqual(calls, ['publish ep_1']);
    agent.withdraw('ep_1');
    assert.deepEqual(calls, ['publish ep_1', 'withdraw ep_1']);
    await agent.publish(ENDPOINT);
    assert.equal(calls.at(-1), 'publish ep_1');
  });

  test('is withdrawn again when its last reason went while it was being published', async () => {
    const { calls, shared } = sharing();
    const publishing = shared.as('agent').publish(ENDPOINT);
    shared.as('agent').withdraw('ep_1');
    await publishing;
    assert.equal(calls.at(-1), 'withdraw ep_1');
    assert.equal(calls[0], 'publish ep_1');
  });

  test('is not remembered after a refusal', async () => {
    const { calls, shared } = sharing(false);
    assert.equal((await shared.as('agent').publish(ENDPOINT)).ok, false);
    assert.equal((await shared.as('directory').publish(ENDPOINT)).ok, false);
    assert.deepEqual(calls, ['publish ep_1', 'publish ep_1']);
  });
});
