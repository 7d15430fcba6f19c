import type { ComponentType } from 'preact';
import { lazyPage } from '../components/lazy-page.tsx';
import { BackendsPage } from './backends/backends-page.tsx';
import { CertificatesPage } from './certificates/certificates-page.tsx';
import { ChangePage } from './changes/change-page.tsx';
import { ChangesPage } from './changes/changes-page.tsx';
import { EdgePage } from './edges/edge-page.tsx';
import { EdgesPage } from './edges/edges-page.tsx';
import { RoutePage } from './edges/route-page.tsx';
import { KeysPage } from './keys/keys-page.tsx';
import { OverviewPage } from './overview/overview-page.tsx';
import type { PageProps } from './page-props.ts';
import { PeoplePage } from './people/people-page.tsx';
import { ResourcePage } from './resources/resource-page.tsx';
import { ResourcesPage } from './resources/resources-page.tsx';
import { SearchPage } from './search/search-page.tsx';
import { SessionsPage } from './sessions/sessions-page.tsx';
import { SitesPage } from './sites/sites-page.tsx';
import { RequestPage } from './traffic/request-page.tsx';
import { TrafficPage } from './traffic/traffic-page.tsx';

const later = () => import('./later-pages.ts');

/** Paths below /console. Pages that few people open first are loaded when they are. */
export const PAGES: readonly (readonly [pattern: string, page: ComponentType<PageProps>])[] = [
  ['/', OverviewPage],
  ['/sites', SitesPage],
  ['/sites/:edge_id', lazyPage(async () => (await later()).SitePage)],
  ['/publish', lazyPage(async () => (await later()).PublishPage)],
  ['/edges', EdgesPage],
  ['/edges/:edge_id', EdgePage],
  ['/edges/:edge_id/routes/:id', RoutePage],
  ['/backends', BackendsPage],
  ['/tunnels', lazyPage(async () => (await later()).TunnelsPage)],
  ['/certificates', CertificatesPage],
  ['/people', PeoplePage],
  ['/people/:id', lazyPage(async () => (await later()).AccountPage)],
  ['/access', lazyPage(async () => (await later()).AccessPage)],
  ['/keys', KeysPage],
  ['/changes', ChangesPage],
  ['/changes/:revision', ChangePage],
  ['/events', lazyPage(async () => (await later()).EventsPage)],
  ['/traffic', TrafficPage],
  ['/traffic/:id', RequestPage],
  ['/explain', lazyPage(async () => (await later()).ExplainPage)],
  ['/settings', lazyPage(async () => (await later()).SettingsPage)],
  ['/sessions', SessionsPage],
  ['/search', SearchPage],
  ['/resources/:tag', ResourcesPage],
  ['/resources/:tag/item', ResourcePage],
];
