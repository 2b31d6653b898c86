const ru = {
  /** What the gateway writes into reasons beside what people type. */
  reasons: {
    turn: (number: string) => `, часть сеанса ${number}`,
    models: (count: string) => `моделей: ${count}`,
    taken: (credited: string, queued: string) => `зачислено: ${credited}, в очереди: ${queued}`,
    documents: (count: string) => `документов: ${count}`,
    keyName: 'название',
    keyLists: { models: 'модели', addresses: 'адреса' },
    budget: 'бюджет',
    periods: { total: 'на всё время', day: 'на день', week: 'на неделю', month: 'на месяц' },
    expiry: 'срок',
    noLimit: 'без ограничения',
    payment: (id: string) => `платёж ${id}`,
    refundCanceled: (id: string) => `возврат ${id} отменён`,
    startingCredit: 'стартовый баланс',
    transfer: (number: string, day: string) => `банковский перевод ${number} от ${day}`,
    transferUndone: (number: string, day: string) => `отмена банковского перевода ${number} от ${day}`,
    alarmEnded: 'закончилась сама',
  },
}

const en: typeof ru = {
  reasons: {
    turn: number => `, turn ${number}`,
    models: count => `${count} models`,
    taken: (credited, queued) => `${credited} credited, ${queued} queued`,
    documents: count => `${count} documents`,
    keyName: 'name',
    keyLists: { models: 'models', addresses: 'addresses' },
    budget: 'budget',
    periods: { total: 'in all', day: 'a day', week: 'a week', month: 'a month' },
    expiry: 'expiry',
    noLimit: 'no limit',
    payment: id => `payment ${id}`,
    refundCanceled: id => `refund ${id} was canceled`,
    startingCredit: 'starting credit',
    transfer: (number, day) => `bank transfer ${number} of ${day}`,
    transferUndone: (number, day) => `bank transfer ${number} of ${day} taken back`,
    alarmEnded: 'it ended by itself',
  },
}

/** Reasons of actions, movements and closed alarms, where the words are the gateway's. */
export const reasonsTexts = { ru, en }
