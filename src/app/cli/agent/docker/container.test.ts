import assert from 'node:assert/strict';
import type { networkInterfaces } from 'node:os';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  addressOf,
  type Container,
  type ContainerNetwork,
  inspectedContainer,
  isLabelled,
  listedContainers,
  type Reach,
  reachOf,
} from './container.ts';
import { changedContainer } from './container-watch.ts';

const ID = 'f'.repeat(64);
const LISTED = { id: ID, name: 'c', labels: new Map(), createdAtMs: 0, networks: [], signature: '' };

suite('what the engine says about containers', () => {
  test('a list with anything that is no container is no list: it would unpublish what it lacks', () => {
    assert.equal(listedContainers([{ Id: ID }])?.length, 1);
    assert.deepEqual(listedContainers([]), []);
    for (const entry of [1, null, {}, [], { Id: 5 }, { Id: 'x' }, { id: ID }])
      for (const list of [[entry], [{ Id: ID }, entry]])
        assert.equal(listedContainers(list), null, JSON.stringify(entry));
  });

  test('reads anything without an exception', () => {
    const words = fc.constantFrom(
      'Id',
      'Names',
      'Labels',
      'State',
      'Status',
      'Ports',
      'Config',
      'HostConfig',
      'Networks',
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ depthSize: 'small' }, fc.jsonValue(), tie('map'), fc.array(tie('any'))),
      map: fc.dictionary(fc.oneof(words, fc.string()), tie('any')),
    })).any;
    fc.assert(
      fc.property(value, (json) => {
        listedContainers(json);
        listedContainers([json, { Id: ID, Labels: json, NetworkSettings: json, Names: json }]);
        inspectedContainer(json, LISTED);
        inspectedContainer(
          { Id: ID, Name: json, State: json, Config: json, HostConfig: json, NetworkSettings: json },
          LISTED,
        );
        const networks = { Networks: { a: json }, Ports: { '80/tcp': [json], '81/tcp': json } };
        inspectedContainer({ Id: ID, Config: { Labels: json, ExposedPorts: json }, NetworkSettings: networks }, LISTED);
        changedContainer(json);
      }),
      { numRuns: 100 },
    );
  });

  test('only a running container whose health check passes is ready', () => {
    const ready = (State: object): boolean => inspectedContainer({ Id: ID, State }, LISTED).isReady;
    assert.equal(ready({ Status: 'running' }), true);
    assert.equal(ready({ Status: 'running', Health: { Status: '' } }), true);
    assert.equal(ready({ Status: 'running', Health: { Status: 'healthy' } }), true);
    for (const Status of ['starting', 'unhealthy', 'odd']) {
      assert.equal(ready({ Status: 'running', Health: { Status } }), false, Status);
    }
    assert.equal(ready({ Status: 'paused' }), false);
    assert.equal(ready({ Status: 'running', Paused: true }), false);
    assert.equal(ready({}), false);
  });

  test('does not mistake one container for another', () => {
    assert.match(inspectedContainer({ Id: 'a'.repeat(64) }, LISTED).problem ?? '', /another container/);
  });

  test('a name that could be mistaken for something else is replaced by the id', () => {
    const nameOf = (Name: string): string => inspectedContainer({ Id: ID, Name }, LISTED).name;
    assert.equal(nameOf('/shop-web-1'), 'shop-web-1');
    for (const name of ['/a b', '/\u001b[2J', '', '/..', 'x\ny']) assert.equal(nameOf(name), ID.slice(0, 12), name);
  });

  test('knows the labels of Postern by their beginning', () => {
    const [one, two] =
      listedContainers([
        { Id: ID, Labels: { 'postern.hsot': 'a' } },
        { Id: ID, Labels: { 'com.docker.compose.project': 'a', postern: 'b' } },
      ]) ?? [];
    assert.deepEqual(
      [one, two].map((each) => each !== undefined && isLabelled(each)),
      [true, false],
    );
  });

  test('only events that change a container cause a reading', () => {
    const changed = (Type: string, Action: string, more: object = {}) =>
      changedContainer({ Type, Action, Actor: { ID, Attributes: {}, ...more } });
    assert.equal(changed('container', 'die'), ID);
    assert.equal(changed('container', 'health_status: unhealthy'), ID);
    assert.equal(changed('network', 'connect', { Attributes: { container: ID } }), ID);
    assert.equal(changed('container', 'exec_start: /bin/sh'), null);
    assert.equal(changed('image', 'pull'), null);
  });
});

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
