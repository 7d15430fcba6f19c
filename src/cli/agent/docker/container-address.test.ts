import assert from 'node:assert/strict';
import type { networkInterfaces } from 'node:os';
import { suite, test } from 'node:test';
import { type Container, type ContainerNetwork, listedContainers } from './container.ts';
import { addressOf, type Reach, reachOf } from './container-address.ts';

const NETWORK: ContainerNetwork = {
  ...{ id: 'n1', name: 'front', address: '172.18.0.5', address6: '', gateway: '172.18.0.1' },
  mac: '02:42:ac:12:00:05',
};
const CONTAINER: Container = {
  ...{ id: 'c', name: 'c', createdAtMs: 0, labels: new Map(), isReady: true, networkMode: 'bridge', problem: null },
  ...{ exposed: [80], published: [], networks: [NETWORK] },
};
const HOST: Reach = { hasLoopback: true, networks: new Set(['n1']), own: new Set(['172.18.0.1']) };

const choice = (more: Partial<Container>, reach: Partial<Reach> = {}, network: string | null = null): string => {
  const found = addressOf({ ...CONTAINER, ...more }, 80, network, { ...HOST, ...reach });
  return 'hostport' in found ? found.hostport : `rejected: ${found.reason}`;
};
const published = (hostIp: string) => [{ port: 80, hostIp, hostPort: 32_768 }];

suite('the address of a container', () => {
  test('a port that is published on loopback comes first', () => {
    assert.equal(choice({ published: published('127.0.0.1') }), '127.0.0.1:32768');
    assert.equal(choice({ published: published('::1') }), '[::1]:32768');
  });

  test('then its address in a network that the agent shares', () => {
    assert.equal(choice({}), '172.18.0.5:80');
    assert.equal(choice({ published: published('0.0.0.0') }), '172.18.0.5:80');
    assert.equal(choice({ published: published('127.0.0.1') }, {}, 'front'), '172.18.0.5:80');
  });

  test('then a port that is published on all addresses of the machine, and nothing else', () => {
    assert.equal(choice({ published: published('0.0.0.0'), networks: [] }), '127.0.0.1:32768');
    assert.match(choice({ published: published('192.0.2.2'), networks: [] }), /^rejected: .*publish it on loopback/);
    assert.match(choice({ networks: [] }), /^rejected/);
    assert.match(choice({}, { networks: new Set() }), /^rejected/);
  });

  test('in a container, ports of loopback are those of the agent itself', () => {
    const inside = { hasLoopback: false };
    assert.equal(choice({ published: published('127.0.0.1') }, inside), '172.18.0.5:80');
    assert.match(choice({ published: published('0.0.0.0'), networks: [] }, inside), /^rejected: .*one network/);
  });

  test('rejects the network of the machine and of other containers, where other programs listen', () => {
    const ports = { published: published('127.0.0.1') };
    assert.match(choice({ ...ports, networkMode: 'host' }), /^rejected: it uses the network of the machine/);
    const host = { ...NETWORK, name: 'host' };
    assert.match(choice({ ...ports, networks: [host] }), /^rejected: it uses the network of the machine/);
    for (const networkMode of ['container:abc', 'ns:/proc/1/ns/net']) {
      assert.match(choice({ ...ports, networkMode }), /^rejected: it uses the network of another container/);
    }
  });

  test('never forwards to metadata services, loopback, public addresses or the agent itself', () => {
    const addresses = ['169.254.169.254', '127.0.0.1', '0.0.0.0', '8.8.8.8', '172.18.0.1', 'localhost', '10.0.0.1/8'];
    for (const address of [...addresses, '224.0.0.1', '2852039166', '0xa9fea9fe', '::ffff:127.0.0.1', 'fe80::1']) {
      assert.match(choice({ networks: [{ ...NETWORK, address }] }), /^rejected/, address);
      assert.match(
        choice({ networks: [{ ...NETWORK, address: '', address6: address }] }, {}, 'front'),
        /^rejected/,
        address,
      );
    }
    assert.equal(choice({ networks: [{ ...NETWORK, address: '', address6: 'fd00:1::5' }] }), '[fd00:1::5]:80');
  });

  test('rejects a network that the agent does not share, whatever its name', () => {
    const other = { ...NETWORK, id: 'n2', name: 'front' };
    assert.match(choice({ networks: [other] }, {}, 'front'), /^rejected: the agent is not in the network "front"/);
  });
});

const listed = (networks: object) =>
  listedContainers([{ Id: 'a'.repeat(64), Labels: {}, NetworkSettings: { Networks: networks } }]) ?? [];
const interfaces = (address: string, mac: string) =>
  ({ eth0: [{ address, mac }] }) as unknown as ReturnType<typeof networkInterfaces>;
const MAC = '02:42:AC:12:00:05';

suite('what the agent reaches', () => {
  test('the machine shares the bridges whose gateway it is', () => {
    const all = listed({ a: { NetworkID: 'n1', Gateway: '172.18.0.1' }, b: { NetworkID: 'n2', Gateway: '10.1.0.1' } });
    const { hasLoopback, networks } = reachOf(all, interfaces('172.18.0.1', MAC), true);
    assert.deepEqual([hasLoopback, [...networks]], [true, ['n1']]);
  });

  test('an agent in a container shares the networks of that container, and no loopback', () => {
    const all = listed({ a: { NetworkID: 'n1', IPAddress: '172.18.0.5', MacAddress: MAC, Gateway: '172.18.0.1' } });
    const { hasLoopback, networks } = reachOf(all, interfaces('172.18.0.5', MAC.toLowerCase()), true);
    assert.deepEqual([hasLoopback, [...networks]], [false, ['n1']]);
    // Another container cannot pretend to be in the network of the agent by its address.
    assert.deepEqual([...reachOf(all, interfaces('172.18.0.5', 'ff:ff:ff:ff:ff:ff'), true).networks], []);
  });

  test('an engine elsewhere has another loopback and other bridges', () => {
    const all = listed({ a: { NetworkID: 'n1', Gateway: '172.17.0.1' } });
    const { hasLoopback, networks } = reachOf(all, interfaces('172.17.0.1', MAC), false);
    assert.deepEqual([hasLoopback, networks.size], [false, 0]);
  });
});
