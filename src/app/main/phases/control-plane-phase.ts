import type { MailQueue } from '../../../control/identity/mail.ts';
import { type OpenedApi, openApi } from '../api.ts';
import { CertificateFiles } from '../certificates/certificate-files.ts';
import { ownApi } from '../data-plane/route-upstreams.ts';
import { DeliveryRole } from '../events.ts';
import { openMail } from '../people/mail.ts';
import type { AccessOpened } from './access-phase.ts';

export interface ControlPlaneOpened extends AccessOpened {
  /** Null: no mail is sent. */
  readonly mail: MailQueue | null;
  /** The delivery of events, which starts later. */
  readonly delivery: DeliveryRole;
  readonly api: OpenedApi;
}

/** The API, and what changes the configuration through it. */
export async function openControlPlane(
  earlier: AccessOpened,
  opened: AsyncDisposableStack,
): Promise<ControlPlaneOpened> {
  const { config, replica, logger } = earlier;
  const mail = openMail(earlier);
  opened.defer(() => mail?.close());
  const delivery = new DeliveryRole(earlier);
  const withMail = { ...earlier, mail: mail?.queue ?? null, delivery };
  const api = await openServerApi(withMail);
  opened.defer(() => api.close());
  earlier.lateApi.open(api);

  const certificateFiles =
    config.certificate_file_dirs.length === 0
      ? null
      : new CertificateFiles({
          replica,
          directories: config.certificate_file_dirs,
          renew: (id, pair) => api.renewCertificate(id, pair),
          log: logger,
        });
  opened.defer(() => certificateFiles?.close());
  return { ...withMail, api };
}

function openServerApi(earlier: Omit<ControlPlaneOpened, 'api'>): Promise<OpenedApi> {
  const { options, registry, links, directory, recorded, own, isBackendAllowed, lists, explainer, late } = earlier;
  const { gateway, workers, snapshots } = late;
  return openApi({
    ...earlier,
    isOwnApi: ownApi(own, isBackendAllowed),
    metrics: () => workers.ifOpen?.metrics(registry) ?? registry.metrics(),
    served: (revision) =>
      all([
        snapshots.ifOpen?.served(revision),
        workers.ifOpen?.served(revision),
        lists.read(revision)?.then(() => workers.ifOpen?.callAll('ping')),
      ]),
    addressLists: lists,
    requests: recorded.requests,
    ...(options.settings !== undefined && { settings: options.settings }),
    configFile: options.configFile ?? null,
    explain: (question) => explainer.explain(question),
    destinationTester: () => earlier.delivery.tester,
    // A server that is linked to no other one shares its lists with those that are through the store.
    ...(links !== null && { online: directory.online }),
    tunnelListen: () => gateway.ifOpen?.address ?? null,
    tunnelNamesUnder: (host) => gateway.ifOpen?.gateway.namesUnder(host) ?? [],
    sessionCommands: options.sessionCommands ?? {
      send: (id, command) => gateway.ifOpen?.gateway.command(id, command) ?? Promise.resolve('unreachable'),
    },
  });
}

/** Null: there is nothing to wait for. */
function all(waiting: readonly (Promise<unknown> | null | undefined)[]): Promise<void> | null {
  const promises = waiting.filter((each) => each !== null && each !== undefined);
  return promises.length === 0 ? null : Promise.all(promises).then(() => {});
}
