import { access, constants } from 'node:fs/promises';
import { failureCode } from '../../../lib/error-text.ts';
import { DnsFailure } from '../../dns-failure.ts';
import type { OpenedZone, ZoneRecords } from '../../dns-provider.ts';
import { runHook } from './run-hook.ts';

/** The operator's executable, which publishes records where we cannot. */
export function hookRecords({ options, ports }: OpenedZone): ZoneRecords {
  const path = options['path'] as string;
  const settings = { path, timeoutMs: ports.hookTimeoutMs, env: ports.env };
  return {
    add: (record, signal) => runHook(settings, 'present', record, signal),
    remove: (record, signal) => runHook(settings, 'cleanup', record, signal),
    check: async () => {
      try {
        await access(path, constants.X_OK);
        return `${path} can be executed`;
      } catch (error) {
        throw new DnsFailure(
          `the hook ${path} cannot be executed (${failureCode(error)}): check the path and its mode`,
        );
      }
    },
  };
}
