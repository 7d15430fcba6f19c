import type { ReservedNames } from '../../modules/reserved-names.ts';
import type { EdgeSettings } from '../edge-settings.ts';
import { DroppedHeaders } from './dropped-headers.ts';
import type { HeadRules } from './request-head.ts';

/** The rules for heads that settings and modules make. */
export function headRules(
  { droppedHeaders, keptHeaders = [], hostPorts }: Pick<EdgeSettings, 'droppedHeaders' | 'keptHeaders' | 'hostPorts'>,
  reserved: Pick<ReservedNames, 'headers'>,
): HeadRules {
  return {
    dropped: new DroppedHeaders(droppedHeaders, reserved.headers, keptHeaders),
    hostPorts: hostPorts.length === 0 ? null : new Set(hostPorts),
  };
}
