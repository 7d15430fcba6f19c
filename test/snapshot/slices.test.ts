import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { isPass } from '../../src/modules/contract/decides.ts';
import type { ModuleRuntime } from '../../src/modules/contract/keeps-state.ts';
import { modules } from '../../src/modules/registry.ts';
import type { EdgeSnapshot } from '../../src/proxy/snapshot/edge-snapshot.ts';
import { Snapshots } from '../../src/proxy/snapshot/snapshots.ts';
import { edgeIdOf, hostOf, put, putSharedPolicyEdges, ruleDoc, SHARED_POLICY } from '../support/shared-policy-edges.ts';
import { TestWorld } from '../support/test-world.ts';

const EDGES = 40;
const EDGES_PER_SLICE = 6;
const OTHER = '192.0.2.1';

/** Time advances only by compiling, and the test ends the pauses. */
class Slices {
  readonly sliceMs = EDGES_PER_SLICE;
  compiled = 0;
  mostPerSlice = 0;
  broken: string | null = null;
  #sinceLast = 0;
  #paused: (() => void) | null = null;
  isHeld = false;

  nowMs = (): number => this.compiled;

  pause = async (): Promise<void> => {
    this.mostPerSlice = Math.max(this.mostPerSlice, this.compiled - this.#sinceLast);
    this.#sinceLast = this.compiled;
    if (this.isHeld) {
      await new Promise<void>((resolve) => {
        this.#paused = resolve;
      });
    }
  };

  begin(): void {
    this.#sinceLast = this.compiled;
    this.mostPerSlice = 0;
  }

  /** Runs one slice. */
  async step(): Promise<void> {
    this.#paused?.();
    this.#paused = null;
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }
}

async function open(t: TestContext): Promise<{ world: TestWorld; slices: Slices; snapshots: Snapshots }> {
  const world = await TestWorld.open(t);
  await putSharedPolicyEdges(world.store, EDGES);
  const catalog = createCatalog(resources, modules);
  const slices = new Slices();
  // Each edge has one route with this module, whose runtime is looked up when the edge is compiled.
  const runtimes = new (class extends Map<string, ModuleRuntime> {
    override get(name: string): undefined {
      if (name !== 'ip_restriction') return;
      slices.compiled += 1;
      if (slices.broken !== null) throw new Error(slices.broken);
    }
  })();
  const { kindOfId } = catalog;
  const snapshots = await Snapshots.open(world.server.replica, { modules, kindOfId, runtimes }, slices);
  t.after(() => snapshots.close());
  slices.begin();
  return { world, slices, snapshots };
}

function letsIn(edge: EdgeSnapshot | undefined, address: string): boolean {
  const route = [...(edge?.routes.all ?? [])][0];
  const module = route?.modules.find(({ name }) => name === 'ip_restriction');
  const verdict = module?.prepared.judge?.({ clientAddress: address } as never);
  return verdict !== undefined && isPass(verdict);
}

function howManyLetIn(snapshots: Snapshots, address: string): number {
  return [...snapshots.all()].filter((edge) => letsIn(edge, address)).length;
}

suite('a change that affects many edges', () => {
  test('is compiled one slice at a time, and swapped in one step', async (t) => {
    const { world, slices, snapshots } = await open(t);
    const told: string[] = [];
    snapshots.onSwap((edgeId) => told.push(edgeId));
    slices.isHeld = true;
    const revision = await put(world.store, ruleDoc(`${OTHER}/32`));
    const served = snapshots.served(revision);
    assert.ok(served !== null);
    const seen = new Set<number>();
    for (let step = 0; step < 30; step += 1) {
      seen.add(howManyLetIn(snapshots, OTHER));
      await slices.step();
    }
    await served;
    assert.deepEqual([...seen], [0, EDGES]);
    assert.ok(slices.mostPerSlice <= EDGES_PER_SLICE, `${slices.mostPerSlice} edges in a slice`);
    assert.equal(told.length, EDGES);
    assert.equal(howManyLetIn(snapshots, '127.0.0.1'), 0);
    assert.equal(snapshots.served(revision), null);
  });

  test('is compiled once, and not for each of hundreds of lists that become known at once', async (t) => {
    const { slices, snapshots } = await open(t);
    const compiledBefore = slices.compiled;
    for (let at = 0; at < 300; at += 1) snapshots.recompile('https_edge', edgeIdOf(0));
    for (let at = 0; at < 300; at += 1) snapshots.recompile('ip_policy', SHARED_POLICY);
    await snapshots.settled();
    assert.ok(slices.compiled - compiledBefore <= 2 * EDGES, `${slices.compiled - compiledBefore} edges compiled`);
  });

  test('is overtaken by a later change of one edge, which is served at once and wins', async (t) => {
    const { world, slices, snapshots } = await open(t);
    slices.isHeld = true;
    const first = await put(world.store, ruleDoc(`${OTHER}/32`));
    await slices.step();
    // The first was compiled in the first slice, the last was not yet.
    for (const at of [0, EDGES - 1]) {
      const doc = { description: '', metadata: '', hostports: [`moved-${at}.localhost:443`] };
      const revision = await put(world.store, { kind: 'https_edge', id: edgeIdOf(at), parent: null, doc });
      assert.equal(snapshots.served(revision), null);
      assert.ok(letsIn(snapshots.find(`moved-${at}.localhost`), OTHER));
    }
    assert.equal(howManyLetIn(snapshots, OTHER), 2);
    slices.isHeld = false;
    await slices.step();
    await snapshots.served(first);
    assert.equal(howManyLetIn(snapshots, OTHER), EDGES);
    for (const at of [0, EDGES - 1]) {
      assert.equal(snapshots.find(hostOf(at)), undefined);
      assert.equal(snapshots.find(`moved-${at}.localhost`)?.id, edgeIdOf(at));
    }
    // Both still follow what they share with the others.
    await snapshots.served(await put(world.store, ruleDoc('198.51.100.1/32')));
    assert.equal(howManyLetIn(snapshots, '198.51.100.1'), EDGES);
  });

  test('does not wait for later ones', async (t) => {
    const { world, slices, snapshots } = await open(t);
    slices.isHeld = true;
    const first = snapshots.served(await put(world.store, ruleDoc('192.0.2.1/32')));
    await slices.step();
    const second = snapshots.served(await put(world.store, ruleDoc('192.0.2.2/32')));
    const third = snapshots.served(await put(world.store, ruleDoc('192.0.2.3/32')));
    assert.ok(first !== null && second !== null);
    assert.equal(second, third);
    assert.notEqual(first, second);
    let isSecondServed = false;
    void second.then(() => {
      isSecondServed = true;
    });
    const isFirstServed = first.then(() => !isSecondServed);
    slices.isHeld = false;
    await slices.step();
    assert.equal(await isFirstServed, true);
    await third;
    assert.equal(howManyLetIn(snapshots, '192.0.2.3'), EDGES);
  });

  test('removes deleted edges, and leaves their host to its new edge', async (t) => {
    const { world, slices, snapshots } = await open(t);
    slices.isHeld = true;
    const first = await put(world.store, ruleDoc(`${OTHER}/32`));
    await world.store.commit({ deletes: [{ kind: 'https_edge', id: edgeIdOf(1) }] });
    const doc = { description: '', metadata: '', hostports: [`${hostOf(1)}:443`] };
    await put(world.store, { kind: 'https_edge', id: 'edghts_heir', parent: null, doc });
    slices.isHeld = false;
    await slices.step();
    await snapshots.served(first);
    assert.equal(snapshots.find(hostOf(1))?.id, 'edghts_heir');
    assert.equal([...snapshots.all()].length, EDGES);
  });

  test('makes edges reject that it cannot be compiled for', async (t) => {
    const { world, slices, snapshots } = await open(t);
    slices.broken = 'planted';
    await snapshots.served(await put(world.store, ruleDoc(`${OTHER}/32`)));
    const edge = snapshots.find(hostOf(3));
    assert.match(String(edge?.problem?.message), /could not be compiled \(planted\)/);
    assert.deepEqual([...(edge?.routes.all ?? [])], []);
    slices.broken = null;
    const named = { description: 'again', metadata: '', hostports: [`${hostOf(3)}:443`] };
    await put(world.store, { kind: 'https_edge', id: edgeIdOf(3), parent: null, doc: named });
    assert.ok(letsIn(snapshots.find(hostOf(3)), OTHER));
  });
});
