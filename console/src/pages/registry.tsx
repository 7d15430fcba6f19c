import type { ComponentType } from 'preact';
import { lazyPage } from '../components/lazy-page.tsx';
import { AccessPage } from './access/access-page.tsx';
import { BackendsPage } from './backends/backends-page.tsx';
import { CertificatesPage } from './certificates/certificates-page.tsx';
import { ChangePage } from './changes/change-page.tsx';
import { ChangesPage } from './changes/changes-page.tsx';
import { EdgePage } from './edges/edge-page.tsx';
import { EdgesPage } from './edges/edges-page.tsx';
import { RoutePage } from './edges/route-page.tsx';
import { EventsPage } from './events/events-page.tsx';
import { ExplainPage } from './explain/explain-page.tsx';
import { KeysPage } from './keys/keys-page.tsx';
import { OverviewPage } from './overview/overview-page.tsx';
import type { PageProps } from './page-props.ts';
import { AccountPage } from './people/account-page.tsx';
import { PeoplePage } from './people/people-page.tsx';
import { ResourcePage } from './resources/resource-page.tsx';
import { ResourcesPage } from './resources/resources-page.tsx';
import { SearchPage } from './search/search-page.tsx';
import { SessionsPage } from './sessions/sessions-page.tsx';
import { SettingsPage } from './settings/settings-page.tsx';
import { SitesPage } from './sites/sites-page.tsx';
import { RequestPage } from './traffic/request-page.tsx';
import { TrafficPage } from './traffic/traffic-page.tsx';
import { TunnelsPage } from './tunnels/tunnels-page.tsx';

/** Paths below /console. */
export const PAGES: readonly (readonly [pattern: string, page: ComponentType<PageProps>])[] = [
  ['/', OverviewPage],
  ['/sites', SitesPage],
  ['/sites/:edge_id', lazyPage(async () => (await import('./sites/site-page.tsx')).SitePage)],
  ['/publish', lazyPage(async () => (await import('./publish/publish-page.tsx')).PublishPage)],
  ['/edges', EdgesPage],
  ['/edges/:edge_id', EdgePage],
  ['/edges/:edge_id/routes/:id', RoutePage],
  ['/backends', BackendsPage],
  ['/tunnels', TunnelsPage],
  ['/certificates', CertificatesPage],
  ['/people', PeoplePage],
  ['/people/:id', AccountPage],
  ['/access', AccessPage],
  ['/keys', KeysPage],
  ['/changes', ChangesPage],
  ['/changes/:revision', ChangePage],
  ['/events', EventsPage],
  ['/traffic', TrafficPage],
  ['/traffic/:id', RequestPage],
  ['/explain', ExplainPage],
  ['/settings', SettingsPage],
  ['/sessions', SessionsPage],
  ['/search', SearchPage],
  ['/resources/:tag', ResourcesPage],
  ['/resources/:tag/item', ResourcePage],
];
