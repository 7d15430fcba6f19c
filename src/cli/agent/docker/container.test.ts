import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { inspectedContainer, isLabelled, listedContainers } from './container.ts';
import { changedContainer } from './engine-event.ts';

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
