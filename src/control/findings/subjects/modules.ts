import { edgeRecord, routeRecord } from '../../../edges/record-kinds.ts';
import type { WatchedAlert } from '../../../modules/contract/prepare.ts';
import { modules } from '../../../modules/registry.ts';
import type { AlertFacts, AlertKind } from '../alert-kind.ts';
import type { Subject } from '../subject.ts';

/** The states of routes that modules have watched. */
export const watchedStates: Subject = {
  alerts: modules.flatMap(({ watched }) => (watched?.alert === undefined ? [] : [alertKindOf(watched.alert)])),
};

function alertKindOf(alert: WatchedAlert): AlertKind {
  const { code, advice } = alert;
  const afterMs: AlertKind['raiseAfterMs'] = ({ ofModules }) => ofModules.get(code) ?? 0;
  return {
    code,
    advice,
    sight: 'node',
    raiseAfterMs: afterMs,
    // The module decides how steady its state is.
    resolveAfterMs: 0,
    isOn: (limits) => afterMs(limits) > 0,
    createLook: () => (facts) =>
      facts.routesIn(code).map((routeId) => ({
        subject: routeId,
        state: 'bad',
        title: alert.title({ route: nameOf(routeId, facts), node: facts.node }),
      })),
  };
}

/** Such as `shop.example.com/api (edghtsrt_1)`. */
function nameOf(routeId: string, facts: AlertFacts): string {
  const records = { get: (kind: string, id: string) => facts.record(kind, id) };
  const route = routeRecord(records, routeId);
  const edge = edgeRecord(records, route?.parent ?? '');
  const [host = ''] = Array.isArray(edge?.doc['hostports']) ? edge.doc['hostports'] : [];
  const name = `${String(host as string).replace(/:443$/, '')}${String((route?.doc['match'] ?? '') as string)}`;
  return name === '' ? routeId : `${name} (${routeId})`;
}
