/** Real answers, one of each endpoint, about a simulated market. `npm run docs` writes this file anew. */

import type { Endpoint } from '../../v2/paths.ts';

export interface Example {
  /** Below `/v2`. */
  readonly path: string;
  readonly answer: string;
}

export const examples: Readonly<Record<Endpoint, Example>> = {
  assets: {
    path: '/assets?limit=2',
    answer:
      '{"data":[{"id":"bitcoin","rank":"1","symbol":"BTC","name":"Bitcoin","supply":"18974800.0000000000000000","maxSupply":"21000000.0000000000000000","marketCapUsd":"1013341537180.6315793142073200","volumeUsd24Hr":"2907371490.3917358587757220","priceUsd":"53404.5964743044237259","changePercent24Hr":"-1.5467284022752917"},{"id":"tether","rank":"2","symbol":"USDT","name":"Tether","supply":"118000000000.0000000000000000","maxSupply":null,"marketCapUsd":"118017506887.8879804000000000","volumeUsd24Hr":"81095058.3471096082210733","priceUsd":"1.0001483634566778","changePercent24Hr":"0.0064707790060538"}],"timestamp":1715854051000}',
  },
  asset: {
    path: '/assets/bitcoin',
    answer:
      '{"data":{"id":"bitcoin","rank":1,"symbol":"BTC","name":"Bitcoin","supply":"18974800.0000000000000000","maxSupply":"21000000.0000000000000000","marketCapUsd":"1013341537180.6315793142073200","volumeUsd24Hr":"2907371490.3917358587757220","priceUsd":"53404.5964743044237259","changePercent24Hr":"-1.5467284022752917","vwap24Hr":"53710.2001837887179156"},"timestamp":1715854051000}',
  },
  assetHistory: {
    path: '/assets/bitcoin/history?interval=h1&start=1715843251000&end=1715854051000',
    answer:
      '{"data":[{"priceUsd":52231.4637315219188932,"time":1715846400000,"date":"2024-05-16T08:00:00.000Z"},{"priceUsd":53134.8912460976659536,"time":1715850000000,"date":"2024-05-16T09:00:00.000Z"},{"priceUsd":53273.1297837888830129,"time":1715853600000,"date":"2024-05-16T10:00:00.000Z"}],"timestamp":1715854051000}',
  },
  assetMarkets: {
    path: '/assets/bitcoin/markets?limit=2',
    answer:
      '{"data":[{"exchangeId":"Binance","baseId":"bitcoin","quoteId":"tether","baseSymbol":"BTC","quoteSymbol":"USDT","volumeUsd24Hr":1643017718.6830634899189227,"priceUsd":53409.3530150268721311,"volumePercent":55.9025891130693041},{"exchangeId":"Coinbase","baseId":"bitcoin","quoteId":"united-states-dollar","baseSymbol":"BTC","quoteSymbol":"USD","volumeUsd24Hr":790742976.5698656725228397,"priceUsd":53396.6471100995226267,"volumePercent":26.9045057826047758}],"timestamp":1715854051000}',
  },
  markets: {
    path: '/markets?exchangeId=kraken&limit=2',
    answer:
      '{"data":[{"exchangeId":"kraken","rank":1,"baseSymbol":"BTC","baseId":"bitcoin","quoteSymbol":"USD","quoteId":"united-states-dollar","priceQuote":"53416.3000000000000000","priceUsd":"53416.3000000000000000","volumeUsd24Hr":"240873376.3960767276691186","percentExchangeVolume":"41.5354962006622724","tradesCount24Hr":null,"updated":1715854020000},{"exchangeId":"kraken","rank":2,"baseSymbol":"BTC","baseId":"bitcoin","quoteSymbol":"EUR","quoteId":"euro","priceQuote":"48052.1000000000000000","priceUsd":"53418.4910836307071352","volumeUsd24Hr":"202938241.8198424232544188","percentExchangeVolume":"34.9940732271581913","tradesCount24Hr":null,"updated":1715854020000}],"timestamp":1715854051000}',
  },
  exchanges: {
    path: '/exchanges',
    answer:
      '{"data":[{"id":"binance","name":"Binance","rank":1,"percentTotalVolume":"60.303565324240878350455084273780031173","volumeUsd":"2547480490.0150695659146373","tradingPairs":13,"socket":true,"exchangeUrl":"https://www.binance.com/","updated":1715854020000},{"id":"coinbase","name":"Coinbase","rank":2,"percentTotalVolume":"25.883844679300203145746676709708310055","volumeUsd":"1093444292.5979300694925810","tradingPairs":5,"socket":true,"exchangeUrl":"https://pro.coinbase.com/","updated":1715854020000},{"id":"kraken","name":"Kraken","rank":3,"percentTotalVolume":"13.727818236507963964341270969986969348","volumeUsd":"579921749.8989119238440633","tradingPairs":6,"socket":false,"exchangeUrl":"kraken.com","updated":1715854020000},{"id":"bitso","name":"Bitso","rank":4,"percentTotalVolume":"0.084771759950954539456968046524689421","volumeUsd":"3581121.6703050886611475","tradingPairs":2,"socket":false,"exchangeUrl":"https://bitso.com/","updated":1715854020000},{"id":"cryptopia","name":"Cryptopia","rank":5,"percentTotalVolume":null,"volumeUsd":null,"tradingPairs":0,"socket":null,"exchangeUrl":null,"updated":1715854020000}],"timestamp":1715854051000}',
  },
  exchange: {
    path: '/exchanges/kraken',
    answer:
      '{"data":{"id":"kraken","name":"Kraken","rank":3,"percentTotalVolume":"13.727818236507963964341270969986969348","volumeUsd":"579921749.8989119238440633","tradingPairs":6,"socket":false,"exchangeUrl":"kraken.com","updated":1715854020000},"timestamp":1715854051000}',
  },
  rates: {
    path: '/rates',
    answer:
      '{"data":[{"id":"australian-dollar","symbol":"AUD","currencySymbol":"$","rateUsd":"0.7130234640581120","type":"fiat"},{"id":"binance-coin","symbol":"BNB","currencySymbol":null,"rateUsd":"333.4244473844884466","type":"crypto"},{"id":"bitcoin","symbol":"BTC","currencySymbol":"₿","rateUsd":"53404.5964743044237259","type":"crypto"},{"id":"brazilian-real","symbol":"BRL","currencySymbol":"R$","rateUsd":"0.2031438291879963","type":"fiat"},{"id":"british-pound-sterling","symbol":"GBP","currencySymbol":"£","rateUsd":"1.3307728673438022","type":"fiat"},{"id":"canadian-dollar","symbol":"CAD","currencySymbol":"$","rateUsd":"0.7153643019968291","type":"fiat"},{"id":"cardano","symbol":"ADA","currencySymbol":null,"rateUsd":"0.3843215794286796","type":"crypto"},{"id":"cfa-franc-bceao","symbol":"XOF","currencySymbol":null,"rateUsd":"0.0018315476655653","type":"fiat"},{"id":"chilean-unit-of-account-(uf)","symbol":"CLF","currencySymbol":null,"rateUsd":"33.9902965674080494","type":"fiat"},{"id":"chinese-yuan-renminbi","symbol":"CNY","currencySymbol":"¥","rateUsd":"0.1531632763806386","type":"fiat"},{"id":"comorian-franc","symbol":"KMF","currencySymbol":null,"rateUsd":"0.0022978861510540","type":"fiat"},{"id":"danish-krone","symbol":"DKK","currencySymbol":"kr","rateUsd":"0.1532994877950679","type":"fiat"},{"id":"dogecoin","symbol":"DOGE","currencySymbol":"Ð","rateUsd":"0.0202113239060304","type":"crypto"},{"id":"ethereum","symbol":"ETH","currencySymbol":"Ξ","rateUsd":"752.2415187480289125","type":"crypto"},{"id":"euro","symbol":"EUR","currencySymbol":"€","rateUsd":"1.1116785964324287","type":"fiat"},{"id":"galleon","symbol":"GLM","currencySymbol":null,"rateUsd":"0.0001155305832598","type":"crypto"},{"id":"golem-(glm)","symbol":"GLM","currencySymbol":null,"rateUsd":"0.3152220414236401","type":"crypto"},{"id":"hong-kong-dollar","symbol":"HKD","currencySymbol":"$","rateUsd":"0.1287125547998668","type":"fiat"},{"id":"icelandic-króna","symbol":"ISK","currencySymbol":"kr","rateUsd":"0.0077910216378940","type":"fiat"},{"id":"indian-rupee","symbol":"INR","currencySymbol":"₹","rateUsd":"0.0126413059014403","type":"fiat"},{"id":"indonesian-rupiah","symbol":"IDR","currencySymbol":"Rp","rateUsd":"0.0000731079101824","type":"fiat"},{"id":"japanese-yen","symbol":"JPY","currencySymbol":"¥","rateUsd":"0.0073096691115273","type":"fiat"},{"id":"litecoin","symbol":"LTC","currencySymbol":"Ł","rateUsd":"31.8536344280451159","type":"crypto"},{"id":"malawian-kwacha","symbol":"MWK","currencySymbol":"MK","rateUsd":"0.0011096279764471","type":"fiat"},{"id":"mexican-peso","symbol":"MXN","currencySymbol":"$","rateUsd":"0.0602705077388310","type":"fiat"},{"id":"new-zealand-dollar","symbol":"NZD","currencySymbol":"$","rateUsd":"0.6173189279899558","type":"fiat"},{"id":"norwegian-krone","symbol":"NOK","currencySymbol":"kr","rateUsd":"0.1070916078507292","type":"fiat"},{"id":"polish-zloty","symbol":"PLN","currencySymbol":"zł","rateUsd":"0.2631741509366956","type":"fiat"},{"id":"polkadot","symbol":"DOT","currencySymbol":null,"rateUsd":"4.0811249108861374","type":"crypto"},{"id":"singapore-dollar","symbol":"SGD","currencySymbol":"$","rateUsd":"0.7642359951546881","type":"fiat"},{"id":"solana","symbol":"SOL","currencySymbol":null,"rateUsd":"138.2097598741471779","type":"crypto"},{"id":"south-african-rand","symbol":"ZAR","currencySymbol":"S","rateUsd":"0.0571770319263815","type":"fiat"},{"id":"south-korean-won","symbol":"KRW","currencySymbol":null,"rateUsd":"0.0008105125923157","type":"fiat"},{"id":"swedish-krona","symbol":"SEK","currencySymbol":"kr","rateUsd":"0.1008561103166584","type":"fiat"},{"id":"swiss-franc","symbol":"CHF","currencySymbol":"CHF","rateUsd":"1.2700888344169040","type":"fiat"},{"id":"são-tomé-dobra","symbol":"STN","currencySymbol":null,"rateUsd":"0.0436893227444252","type":"fiat"},{"id":"tether","symbol":"USDT","currencySymbol":"₮","rateUsd":"1.0001483634566778","type":"crypto"},{"id":"turkish-lira","symbol":"TRY","currencySymbol":"₺","rateUsd":"0.0291878248269472","type":"fiat"},{"id":"ukrainian-hryvnia","symbol":"UAH","currencySymbol":"₴","rateUsd":"0.0262598611505473","type":"fiat"},{"id":"united-states-dollar","symbol":"USD","currencySymbol":"$","rateUsd":"1.0000000000000000","type":"fiat"},{"id":"usd-coin","symbol":"USDC","currencySymbol":null,"rateUsd":"0.9996423799375577","type":"crypto"},{"id":"xrp","symbol":"XRP","currencySymbol":null,"rateUsd":"0.3251456431028961","type":"crypto"}],"timestamp":1715854051000}',
  },
  rate: {
    path: '/rates/icelandic-kr%C3%B3na',
    answer:
      '{"data":{"id":"icelandic-króna","symbol":"ISK","currencySymbol":"kr","rateUsd":"0.0077910216378940","type":"fiat"},"timestamp":1715854051000}',
  },
  candles: {
    path: '/candles?exchange=kraken&interval=d1&baseId=bitcoin&quoteId=euro&start=1715644800000',
    answer:
      '{"data":[{"open":"45944.8700000000000000","high":"48240.9400000000000000","low":"43656.5700000000000000","close":"44626.2200000000000000","volume":"4052.4366029253211323","period":1715644800000},{"open":"44626.2200000000000000","high":"50939.9500000000000000","low":"44251.5600000000000000","close":"45913.1900000000000000","volume":"3995.0809556791860913","period":1715731200000},{"open":"45913.1900000000000000","high":"48207.3400000000000000","low":"45430.7900000000000000","close":"48026.8200000000000000","volume":"1266.4122511542800313","period":1715817600000}],"timestamp":1715854051000}',
  },
};
