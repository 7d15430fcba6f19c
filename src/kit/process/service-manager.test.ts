import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { serviceManager } from './service-manager.ts';

suite('serviceManager', () => {
  test('is absent without a socket, and then sends nothing', async () => {
    for (const env of [{}, { NOTIFY_SOCKET: '' }, { NOTIFY_SOCKET: 'relative/path' }]) {
      const manager = serviceManager(env, '/nonexistent');
      assert.equal(manager.isPresent, false);
      assert.equal(await manager.notify('READY=1'), false);
      manager.startWatchdog()();
    }
  });

  test('reports false when the message cannot be sent', async () => {
    // The runtime throws the error of a path below a file, and passes that of a missing one.
    for (const program of ['/nonexistent/systemd-notify', `${process.execPath}/systemd-notify`]) {
      const manager = serviceManager({ NOTIFY_SOCKET: '/nonexistent/notify' }, program);
      assert.equal(manager.isPresent, true);
      assert.equal(await manager.notify('READY=1'), false);
    }
  });

  test('removes the variables, so that programs started later do not report for this one', () => {
    const env = { NOTIFY_SOCKET: '@abstract', WATCHDOG_USEC: '1000', WATCHDOG_PID: '1', HOME: '/root' };
    assert.equal(serviceManager(env, '/nonexistent').isPresent, true);
    assert.deepEqual(env, { HOME: '/root' });
  });
});
