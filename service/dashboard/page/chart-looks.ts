/** How the chart looks, light or dark: by the style sheet's colours. */

import { ColorType, CrosshairMode } from 'lightweight-charts';
import { colour } from './theme.ts';

export function chartLooks() {
  const line = { color: colour('--line') };
  return {
    layout: {
      background: { type: ColorType.Solid, color: colour('--surface') },
      textColor: colour('--text'),
      // The page has the notice and the link itself: the logo brings a style element, which the policy forbids.
      attributionLogo: false,
    },
    grid: { vertLines: line, horzLines: line },
    timeScale: {
      timeVisible: true,
      secondsVisible: false,
      borderColor: colour('--line'),
      minBarSpacing: 0.5,
    },
    rightPriceScale: { borderColor: colour('--line') },
    crosshair: { mode: CrosshairMode.Normal },
    localization: { locale: 'en-GB' },
  };
}

export function seriesLooks() {
  const [up, down] = [colour('--up'), colour('--down')];
  return {
    ...{
      upColor: up,
      downColor: down,
      wickUpColor: up,
      wickDownColor: down,
      borderUpColor: up,
      borderDownColor: down,
    },
    ...{
      color: colour('--covered'),
      lineWidth: 2 as const,
      priceLineVisible: false,
      lastValueVisible: false,
    },
  };
}
